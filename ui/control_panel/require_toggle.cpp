// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/require_toggle.h"

#include <QFontMetrics>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>

namespace attn::ui {

namespace {

constexpr int kPad = 7;
constexpr int kHeight = 19;

}  // namespace

RequireToggle::RequireToggle(const QString& backend, const Theme& theme, QWidget* parent)
    : QAbstractButton(parent), backend_(backend), theme_(theme) {
  setCheckable(true);
  setFocusPolicy(Qt::TabFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setToolTip(tr("<p><b>Prefer</b>: calls that %1 declines go to the next backend.</p><p><b>Require</b>: a job whose "
                "denoiser would make a call that no required backend serves does not start, and says why. As "
                "<code>attnctl run --require transformer=NAME</code>.</p>")
                 .arg(backend.toHtmlEscaped()));
  connect(this, &QAbstractButton::toggled, this, &RequireToggle::say);
  connect(&theme_, &Theme::changed, this, [this] {
    updateGeometry();
    update();
  });
  say();
}

QString RequireToggle::word(bool required) const { return required ? tr("require") : tr("prefer"); }

int RequireToggle::width_of(bool required) const {
  QFont bold = theme_.small_font();
  bold.setWeight(QFont::DemiBold);
  return QFontMetrics(bold).horizontalAdvance(word(required)) + 2 * kPad;
}

QSize RequireToggle::sizeHint() const { return {width_of(false) + width_of(true) + 2, kHeight}; }

void RequireToggle::say() {
  setAccessibleName(isChecked() ? tr("%1 is required").arg(backend_) : tr("%1 is preferred").arg(backend_));
  update();
}

void RequireToggle::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF outer = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  QPainterPath shape;
  shape.addRoundedRect(outer, 4, 4);
  painter.fillPath(shape, theme_[underMouse() ? Ink::hover : Ink::window]);
  const int border = width_of(false) + 1;
  const QRect halves[] = {QRect(0, 0, border, height()), QRect(border, 0, width() - border, height())};
  painter.save();
  painter.setClipPath(shape);
  painter.fillRect(halves[isChecked()], theme_[Ink::selection]);
  painter.restore();
  painter.setPen(theme_[hasFocus() ? Ink::accent : Ink::line]);
  painter.drawPath(shape);
  for (const bool required : {false, true}) {
    const bool holds = isChecked() == required;
    QFont font = theme_.small_font();
    if (holds) font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(theme_[holds ? Ink::text : Ink::dim]);
    painter.drawText(halves[required], Qt::AlignCenter, word(required));
  }
}

void RequireToggle::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right) {
    if (isChecked() != (event->key() == Qt::Key_Right)) click();
    return;
  }
  QAbstractButton::keyPressEvent(event);
}

}  // namespace attn::ui
