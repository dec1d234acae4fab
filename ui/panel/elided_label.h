// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPainter>
#include <QStyleOption>

namespace attn::ui {

/// A one-line label that ends in an ellipsis where there is no room, with the whole text as its tooltip then.
class ElidedLabel final : public QLabel {
 public:
  using QLabel::QLabel;

  [[nodiscard]] QSize minimumSizeHint() const override { return {0, QLabel::minimumSizeHint().height()}; }
  [[nodiscard]] QSize sizeHint() const override {
    return {fontMetrics().horizontalAdvance(text()) + 2, QLabel::sizeHint().height()};
  }
  /// Shown on hover when the text is whole; else the text and this.
  void set_tip(const QString& tip) {
    tip_ = tip;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
    const QString whole = shown == text() ? tip_ : (tip_.isEmpty() ? text() : text() + "\n\n" + tip_);
    if (toolTip() != whole) setToolTip(whole);
    style()->drawItemText(&painter, contentsRect(), static_cast<int>(alignment()), palette(), isEnabled(), shown,
                          foregroundRole());
  }

 private:
  QString tip_;
};

}  // namespace attn::ui
