// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/preview/picture_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr double kStep = 0.01;
constexpr double kPage = 0.1;
constexpr int kMargin = 12;

}  // namespace

PictureView::PictureView(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName("picture_view");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
  describe();
}

void PictureView::set_picture(const QImage& picture) {
  picture_ = picture;
  describe();
  update();
}

void PictureView::set_baseline(const QImage& baseline) {
  baseline_ = baseline;
  describe();
  update();
}

void PictureView::set_difference(const QImage& difference, const QString& note) {
  difference_ = difference;
  note_ = note;
  update();
}

void PictureView::set_mode(Mode mode) {
  mode_ = mode;
  setFocusPolicy(slides() ? Qt::StrongFocus : Qt::NoFocus);
  setCursor(slides() ? Qt::SplitHCursor : Qt::ArrowCursor);
  describe();
  update();
}

void PictureView::set_divider(double share) {
  divider_ = std::clamp(share, 0.0, 1.0);
  describe();
  update();
}

bool PictureView::slides() const noexcept { return mode_ == Mode::slider; }

void PictureView::describe() {
  const auto size = [](const QImage& image) { return tr("%1 by %2 pixels").arg(image.width()).arg(image.height()); };
  setAccessibleName(slides() ? tr("Divider between baseline and picture") : tr("Picture"));
  setAccessibleDescription(picture_.isNull() ? tr("nothing drawn yet")
                           : slides()        ? tr("baseline on the left %1 %").arg(qRound(100 * divider_))
                                             : size(picture_));
  setToolTip(slides() ? tr("Drag the divider, or move it with the arrow keys, Page Up, Page Down, Home and End")
                      : QString());
}

QRect PictureView::frame() const {
  const QImage& shown = mode_ == Mode::difference && !difference_.isNull() ? difference_ : picture_;
  const QImage& sized = shown.isNull() ? baseline_ : shown;
  if (sized.isNull()) return {};
  const QRect room = rect().adjusted(kMargin, kMargin, -kMargin, -kMargin);
  QRect place(QPoint(), sized.size().scaled(room.size(), Qt::KeepAspectRatio));
  place.moveCenter(room.center());
  return place;
}

void PictureView::draw_image(QPainter& painter, const QImage& image, const QRect& place) const {
  // A look at a latent is one pixel a cell, and a small picture is looked at for its pixels: only the first is smooth.
  const bool pixels = place.width() >= 2 * image.width() && image.width() >= 64;
  painter.setRenderHint(QPainter::SmoothPixmapTransform, !pixels);
  painter.drawImage(place, image);
}

void PictureView::draw_tag(QPainter& painter, const QString& text, bool right) const {
  const QRect place = frame().adjusted(6, 6, -6, -6);
  painter.setFont(theme_.small_font());
  const int width = painter.fontMetrics().horizontalAdvance(text) + 12;
  const int height = painter.fontMetrics().height() + 4;
  const QRect box(right ? place.right() - width + 1 : place.left(), place.top(), width, height);
  QColor back = theme_[Ink::panel];
  back.setAlpha(225);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(back);
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(theme_[Ink::text]);
  painter.drawText(box, Qt::AlignCenter, text);
}

void PictureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_[Ink::window]);
  const QRect place = frame();
  if (place.isEmpty()) return;
  if (mode_ == Mode::difference && !difference_.isNull()) {
    draw_image(painter, difference_, place);
    draw_tag(painter, tr("difference %1").arg(note_), false);
    return;
  }
  if (!picture_.isNull()) draw_image(painter, picture_, place);
  if (!slides() || baseline_.isNull()) return;
  const int x = place.left() + qRound(divider_ * place.width());
  painter.save();
  painter.setClipRect(QRect(place.left(), place.top(), x - place.left(), place.height()));
  draw_image(painter, baseline_, place);
  painter.restore();
  draw_tag(painter, tr("baseline"), false);
  draw_tag(painter, tr("picture"), true);
  // Two colours, so that the line is seen on any picture.
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(QRectF(x - 1.5, place.top(), 3, place.height()), theme_[Ink::panel]);
  painter.fillRect(QRectF(x - 0.5, place.top(), 1, place.height()), theme_[hasFocus() ? Ink::accent : Ink::text]);
  painter.setPen(QPen(theme_[Ink::panel], 1.5));
  painter.setBrush(theme_[hasFocus() ? Ink::accent : Ink::text]);
  painter.drawEllipse(QPointF(x, place.center().y()), 7, 7);
}

void PictureView::divide_at(double x) {
  const QRect place = frame();
  if (!place.isEmpty()) set_divider((x - place.left()) / place.width());
}

void PictureView::mousePressEvent(QMouseEvent* event) {
  if (!slides() || event->button() != Qt::LeftButton) return;
  setFocus(Qt::MouseFocusReason);
  divide_at(event->position().x());
}

void PictureView::mouseMoveEvent(QMouseEvent* event) {
  if (slides() && (event->buttons() & Qt::LeftButton) != 0) divide_at(event->position().x());
}

void PictureView::keyPressEvent(QKeyEvent* event) {
  if (!slides()) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Left:
      return set_divider(divider_ - kStep);
    case Qt::Key_Right:
      return set_divider(divider_ + kStep);
    case Qt::Key_PageUp:
      return set_divider(divider_ - kPage);
    case Qt::Key_PageDown:
      return set_divider(divider_ + kPage);
    case Qt::Key_Home:
      return set_divider(0.0);
    case Qt::Key_End:
      return set_divider(1.0);
    default:
      QWidget::keyPressEvent(event);
  }
}

void PictureView::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void PictureView::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

}  // namespace attn::ui
