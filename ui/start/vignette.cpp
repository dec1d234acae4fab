// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/start/vignette.h"

#include <QPainter>
#include <QPainterPath>
#include <cmath>

namespace attn::ui {

namespace {

/// 0 to 1, the same for the same place at every start.
double grain(int x, int y) {
  const auto mixed = static_cast<std::uint32_t>(x) * 2654435761U ^ static_cast<std::uint32_t>(y) * 2246822519U;
  return static_cast<double>((mixed ^ (mixed >> 15)) & 0xffU) / 255.0;
}

QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto part = [share](float from, float to) { return from + static_cast<float>(share) * (to - from); };
  return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()), part(a.blueF(), b.blueF()));
}

}  // namespace

Vignette::Vignette(Example::Show show, const Theme& theme, QWidget* parent)
    : QWidget(parent), show_(show), theme_(theme) {
  setFixedHeight(kHeight);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&theme, &Theme::changed, this, [this] { update(); });
}

void Vignette::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  QPainterPath frame;
  frame.addRoundedRect(box, 5, 5);
  painter.fillPath(frame, theme_[Ink::window]);
  painter.save();
  painter.setClipPath(frame);
  const QRectF inside = box.adjusted(14, 10, -14, -10);
  if (show_ == Example::Show::picture) paint_picture(painter, inside);
  if (show_ == Example::Show::fallback) paint_fallback(painter, inside);
  if (show_ == Example::Show::budget) paint_tiles(painter, inside);
  painter.restore();
  painter.setPen(theme_[Ink::line]);
  painter.drawPath(frame);
}

/// Noise that becomes a circle and a square in four steps.
void Vignette::paint_picture(QPainter& painter, const QRectF& box) const {
  constexpr int kSteps = 4;
  constexpr int kCells = 14;
  const double side = std::min(box.height(), (box.width() - (kSteps - 1) * 10.0) / kSteps);
  const double left = box.center().x() - (kSteps * side + (kSteps - 1) * 10.0) / 2;
  const double cell = side / kCells;
  painter.setPen(Qt::NoPen);
  for (int step = 0; step < kSteps; ++step) {
    const double done = step / (kSteps - 1.0);
    for (int y = 0; y < kCells; ++y) {
      for (int x = 0; x < kCells; ++x) {
        const bool circle = std::hypot(x - 4.2, y - 6.5) < 3.6;
        const bool square = x >= 9 && x <= 12 && y >= 5 && y <= 8;
        const QColor form = theme_.backend(circle ? u"dynamic" : square ? u"sage" : u"flash");
        const QColor noise = mixed(theme_[Ink::raised], theme_[Ink::dim], grain(x + 31 * step, y));
        painter.setBrush(mixed(noise, form, std::pow(done, 0.7)));
        painter.drawRect(QRectF(left + step * (side + 10.0) + x * cell, box.center().y() - side / 2 + y * cell,
                                cell + 0.4, cell + 0.4));
      }
    }
  }
}

/// Calls along a chain: all stop at its first link but one, which goes through to the end.
void Vignette::paint_fallback(QPainter& painter, const QRectF& box) const {
  const QStringView names[] = {u"sdnq", u"sage", u"flash", u"sdpa"};
  const double width = std::min(66.0, (box.width() - 3 * 16.0) / 4);
  const double left = box.center().x() - (4 * width + 3 * 16.0) / 2;
  const double height = 24.0;
  const double top = box.top() + 4;
  painter.setFont(theme_.small_font());
  for (int i = 0; i < 4; ++i) {
    const QRectF chip(left + i * (width + 16.0), top, width, height);
    painter.setPen(theme_[Ink::line]);
    painter.setBrush(theme_[Ink::raised]);
    painter.drawRoundedRect(chip, 4, 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_.backend(names[i]));
    painter.drawRoundedRect(QRectF(chip.left(), chip.top(), 4, height), 2, 2);
    painter.setPen(theme_[i == 0 || i == 3 ? Ink::text : Ink::dim]);
    painter.drawText(chip.adjusted(6, 0, 0, 0), Qt::AlignCenter, names[i].toString());
  }
  const double below = top + height + 18;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_[Ink::pending], 1.6, Qt::DashLine));
  const double end = left + 3 * (width + 16.0) + width / 2;
  QPainterPath way(QPointF(left + width / 2, top + height + 3));
  way.cubicTo(QPointF(left + width / 2, below), QPointF(left + width, below), QPointF(left + width + 20, below));
  way.lineTo(end - 24, below);
  way.cubicTo(QPointF(end - 6, below), QPointF(end, below), QPointF(end, top + height + 6));
  painter.drawPath(way);
  painter.setPen(QPen(theme_[Ink::pending], 1.6));
  painter.drawLine(QPointF(end, top + height + 4), QPointF(end - 4, top + height + 9));
  painter.drawLine(QPointF(end, top + height + 4), QPointF(end + 4, top + height + 9));
}

/// Tiles of a block mask, dense and then with three in ten kept.
void Vignette::paint_tiles(QPainter& painter, const QRectF& box) const {
  constexpr int kRows = 8;
  constexpr int kColumns = 14;
  const double cell = std::min(box.height() / kRows, (box.width() - 26) / (2 * kColumns));
  const double width = kColumns * cell;
  painter.setPen(Qt::NoPen);
  for (int side = 0; side < 2; ++side) {
    const double left = box.center().x() + (side == 0 ? -width - 13 : 13);
    for (int y = 0; y < kRows; ++y) {
      for (int x = 0; x < kColumns; ++x) {
        const int diagonal = x * kRows / kColumns;
        const bool kept = side == 0 || diagonal == y || grain(x, y + 7) < 0.22;
        const bool pinned = side == 1 && diagonal == y;
        painter.setBrush(!kept ? theme_[Ink::raised] : pinned ? theme_[Ink::tile_diagonal] : theme_[Ink::tile_chosen]);
        painter.drawRect(QRectF(left + x * cell, box.center().y() - kRows * cell / 2 + y * cell, cell - 1, cell - 1));
      }
    }
  }
  painter.setPen(QPen(theme_[Ink::dim], 1.4));
  const QPointF mid = box.center();
  painter.drawLine(mid + QPointF(-6, 0), mid + QPointF(6, 0));
  painter.drawLine(mid + QPointF(6, 0), mid + QPointF(2, -4));
  painter.drawLine(mid + QPointF(6, 0), mid + QPointF(2, 4));
}

}  // namespace attn::ui
