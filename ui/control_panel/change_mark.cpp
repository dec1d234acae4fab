// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/change_mark.h"

#include <QPainter>

namespace attn::ui {

ChangeMark::ChangeMark(Kind kind, const Theme& theme, QWidget* parent)
    : QAbstractButton(parent), kind_(kind), theme_(theme) {
  setFixedSize(sizeHint());
  setFocusPolicy(Qt::NoFocus);
  setEnabled(false);
}

void ChangeMark::set_on(bool on, const QString& value_text) {
  on_ = on;
  setEnabled(on);
  setFocusPolicy(on ? Qt::TabFocus : Qt::NoFocus);
  setCursor(on ? Qt::PointingHandCursor : Qt::ArrowCursor);
  const bool edited = kind_ == Kind::edited;
  const QString state = edited ? tr("Edited, not applied") : tr("Applied, not the default");
  const QString undo =
      value_text.isEmpty() ? QString() : (edited ? tr("Click: back to %1") : tr("Click: default %1")).arg(value_text);
  setToolTip(!on ? QString() : (undo.isEmpty() ? state : state + ".\n" + undo));
  setAccessibleName(on ? (undo.isEmpty() ? state : state + ". " + undo) : QString());
  update();
}

void ChangeMark::paintEvent(QPaintEvent*) {
  if (!on_) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hasFocus() ? QPen(theme_[Ink::text], 1.0) : QPen(Qt::NoPen));
  painter.setBrush(theme_[kind_ == Kind::edited ? Ink::pending : Ink::applied]);
  painter.drawRoundedRect(QRectF(1, 1, 4, height() - 2), 2, 2);
}

}  // namespace attn::ui
