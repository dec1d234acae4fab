// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/chain_bar/chain_history.h"
#include "ui/theme/theme.h"

#include <QFrame>

class QLabel;
class QPushButton;

namespace attn::ui {

class FactTable;

/// The chains since start, newest first: choosing one says what it changed and what going back to it would set.
class HistoryPopup final : public QFrame {
  Q_OBJECT

 public:
  HistoryPopup(ChainHistory& history, const Theme& theme, QWidget* parent);
  /// Opens under a widget, within its screen.
  void open_under(const QWidget& widget);

 protected:
  void hideEvent(QHideEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void refresh();
  void show_detail();
  /// Of the chosen row, its place in the history; the newest where none is chosen.
  [[nodiscard]] std::size_t chosen() const;

  ChainHistory& history_;
  FactTable* table_;
  QLabel* detail_;
  QPushButton* back_;
};

}  // namespace attn::ui
