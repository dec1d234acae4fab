// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/chain_chip.h"

#include "ui/format/format.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kHeight = 38;
constexpr int kStripe = 4;
constexpr int kPad = 10;

QFont strong(QFont font) {
  font.setWeight(QFont::DemiBold);
  return font;
}

}  // namespace

ChainChip::ChainChip(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ChainChip::set_link(const ChainLink& link, const QString& label) {
  link_ = link;
  setAccessibleName(link.name + ", " + second_line());
  setToolTip(label + "\n" + second_line());
  updateGeometry();
  update();
}

QString ChainChip::second_line() const {
  switch (link_.state) {
    case ChainLink::State::joins:
      return link_.note;
    case ChainLink::State::leaves:
      if (!link_.note.isEmpty()) return link_.note;
      return counted(link_.calls, tr("call")) + tr(" · will leave");
    case ChainLink::State::stays:
      break;
  }
  const QString calls = counted(link_.calls, tr("call"));
  return link_.calls > 0 ? calls + " · " + share_text(link_.share) : calls;
}

QSize ChainChip::sizeHint() const {
  const int name = QFontMetrics(strong(theme_.text_font())).horizontalAdvance(link_.name);
  const int note = QFontMetrics(theme_.small_font()).horizontalAdvance(second_line());
  return {std::max({name, note, 72}) + kStripe + 2 * kPad, kHeight};
}

QSize ChainChip::minimumSizeHint() const {
  return {QFontMetrics(strong(theme_.text_font())).horizontalAdvance(link_.name) + kStripe + 2 * kPad, kHeight};
}

void ChainChip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool leaves = link_.state == ChainLink::State::leaves;
  const bool joins = link_.state == ChainLink::State::joins;
  const QColor color = theme_.backend(link_.name);
  const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);

  QPainterPath shape;
  shape.addRoundedRect(frame, 6, 6);
  painter.fillPath(shape, leaves ? theme_[Ink::panel] : theme_[Ink::raised]);
  painter.save();
  painter.setClipPath(shape);
  painter.fillRect(QRectF(0, 0, kStripe, height()), joins ? theme_[Ink::panel] : color);
  if (joins) {
    for (int y = 2; y < height(); y += 8) painter.fillRect(QRectF(0, y, kStripe, 5), color);
  }
  painter.restore();
  QPen border(joins ? theme_[Ink::ok] : theme_[Ink::line], 1.0);
  if (joins || leaves) border.setDashPattern({3.0, 2.5});
  painter.setPen(border);
  painter.drawPath(shape);

  const auto write = [&](QFont font, const QColor& ink, const QRect& box, const QString& text) {
    font.setStrikeOut(leaves);
    painter.setFont(font);
    painter.setPen(ink);
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(font).elidedText(text, Qt::ElideRight, box.width()));
  };
  const QRect inner = rect().adjusted(kStripe + kPad - 1, 3, -kPad + 2, -3);
  const QRect top(inner.left(), inner.top(), inner.width(), inner.height() / 2);
  const QRect bottom(inner.left(), top.bottom() + 1, inner.width(), inner.height() - top.height());
  write(strong(theme_.text_font()), leaves ? theme_[Ink::dim] : theme_[Ink::text], top, link_.name);
  write(theme_.small_font(), theme_[Ink::dim], bottom, second_line());
}

}  // namespace attn::ui
