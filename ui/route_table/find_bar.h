// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter_line.h"

#include <QLabel>
#include <QToolButton>

namespace attn::ui {

/// A second line under the filter that goes from match to match and hides nothing.
class FindBar final : public QWidget {
  Q_OBJECT

 public:
  FindBar(const Theme& theme, QWidget* parent = nullptr);

  void open();
  void close_bar();
  void say(const QString& sentence);
  [[nodiscard]] FilterLine& line() noexcept { return *line_; }
  /// Next or previous match of what is written; opens the bar when nothing is.
  void go(bool backwards);

 signals:
  void wanted(const attn::ui::Filter& filter, bool backwards);
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  FilterLine* line_;
  QLabel* result_;
};

}  // namespace attn::ui
