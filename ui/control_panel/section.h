// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QAbstractButton>
#include <QWidget>

class QVBoxLayout;

namespace attn::ui {

class ChangeMark;
class ElidedLabel;

/// The heading of a section: a click, Space or Enter opens and closes it.
class SectionHeader final : public QAbstractButton {
  Q_OBJECT

 public:
  SectionHeader(const QString& title, const Theme& theme, QWidget* parent = nullptr);
  void set_marks(bool edited, bool changed);
  void set_note(const QString& note);
  [[nodiscard]] QSize sizeHint() const override { return {200, 30}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  const Theme& theme_;
  bool edited_ = false;
  bool changed_ = false;
  QString note_;
};

/// A heading with rows under it. Marks of the rows rise to the heading.
class Section final : public QWidget {
  Q_OBJECT

 public:
  Section(const QString& title, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] QString title() const { return header_->text(); }
  [[nodiscard]] SectionHeader* header() noexcept { return header_; }
  void add(QWidget* row);
  void set_open(bool open);
  [[nodiscard]] bool is_open() const { return header_->isChecked(); }
  /// While a search runs the rows are shown whatever the heading says.
  void set_searching(bool searching);

 private:
  void show_body();

  SectionHeader* header_;
  QWidget* body_;
  QVBoxLayout* rows_;
  bool searching_ = false;
};

}  // namespace attn::ui
