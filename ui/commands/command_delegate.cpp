// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/command_delegate.h"

#include "ui/commands/command_model.h"

#include <QPainter>
#include <QTextLayout>

namespace attn::ui {

namespace {

constexpr int kMargin = 12;
constexpr int kCapPadding = 6;
constexpr int kCapGap = 6;

QStringList caps_of(const QString& keys) { return keys.split(CommandRegistry::tr(" or "), Qt::SkipEmptyParts); }

/// The text in one line with its letters in their colours, ending in an ellipsis where the room ends.
void paint_title(QPainter& painter, const QModelIndex& index, const QFont& font, const Theme& theme, const QRect& box) {
  const QString full = index.data().toString();
  const QString text = QFontMetrics(font).elidedText(full, Qt::ElideRight, box.width());
  const bool enabled = index.data(CommandModel::enabled_role).toBool();
  const auto part = [](int start, int length, const QColor& color, bool bold) {
    QTextLayout::FormatRange range;
    range.start = start;
    range.length = length;
    range.format.setForeground(color);
    if (bold) range.format.setFontWeight(QFont::DemiBold);
    return range;
  };
  const int length = static_cast<int>(text.size());
  const int prefix = std::min(static_cast<int>(index.data(CommandModel::section_role).toString().size()) + 1, length);
  QList<QTextLayout::FormatRange> formats;
  formats << part(0, prefix, theme[enabled ? Ink::dim : Ink::faint], false);
  formats << part(prefix, length - prefix, theme[enabled ? Ink::text : Ink::faint], false);
  for (const QVariant& place : index.data(CommandModel::places_role).toList()) {
    if (place.toInt() < length) formats << part(place.toInt(), 1, theme[enabled ? Ink::accent : Ink::dim], true);
  }
  QTextLayout layout(text, font);
  layout.setFormats(formats);
  layout.beginLayout();
  QTextLine line = layout.createLine();
  line.setLineWidth(1e5);
  layout.endLayout();
  layout.draw(&painter, QPointF(box.left(), box.top() + (box.height() - line.height()) / 2));
}

}  // namespace

int key_caps_width(const Theme& theme, const QString& keys) {
  const QFontMetrics metrics(theme.small_font());
  int width = 0;
  for (const QString& cap : caps_of(keys)) width += metrics.horizontalAdvance(cap) + 2 * kCapPadding + kCapGap;
  return std::max(0, width - kCapGap);
}

int paint_key_caps(QPainter& painter, const Theme& theme, const QString& keys, const QRect& box, Ink ink) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(theme.small_font());
  const QFontMetrics metrics(theme.small_font());
  const int height = metrics.height() + 4;
  int right = box.right() + 1;
  const QStringList caps = caps_of(keys);
  for (auto cap = caps.rbegin(); cap != caps.rend(); ++cap) {
    const int width = metrics.horizontalAdvance(*cap) + 2 * kCapPadding;
    const QRect frame(right - width, box.center().y() - height / 2, width, height);
    painter.setPen(theme[Ink::line]);
    painter.setBrush(theme[Ink::panel]);
    painter.drawRoundedRect(QRectF(frame).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setPen(theme[ink]);
    painter.drawText(frame, Qt::AlignCenter, *cap);
    right -= width + kCapGap;
  }
  painter.restore();
  return caps.isEmpty() ? right : right + kCapGap;
}

void CommandDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  painter->save();
  if ((option.state & QStyle::State_Selected) != 0) {
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme_[Ink::selection]);
    painter->drawRoundedRect(QRectF(option.rect).adjusted(4, 1, -4, -1), 4, 4);
  }
  QRect room = option.rect.adjusted(kMargin, 0, -kMargin, 0);
  const bool enabled = index.data(CommandModel::enabled_role).toBool();
  room.setRight(paint_key_caps(*painter, theme_, index.data(CommandModel::keys_role).toString(), room,
                               enabled ? Ink::dim : Ink::faint) -
                kMargin);
  const QFont font = theme_.text_font();
  const QString reason = index.data(CommandModel::reason_role).toString();
  if (!reason.isEmpty()) {
    const QFontMetrics metrics(theme_.small_font());
    const int wanted = metrics.horizontalAdvance(reason);
    const int title = QFontMetrics(font).horizontalAdvance(index.data().toString()) + kMargin;
    const int width = std::min(wanted, std::max(0, room.width() - title));
    const QRect box(room.right() - width + 1, room.top(), width, room.height());
    painter->setPen(theme_[Ink::dim]);
    painter->setFont(theme_.small_font());
    painter->drawText(box, Qt::AlignVCenter | Qt::AlignRight, metrics.elidedText(reason, Qt::ElideRight, width));
    room.setRight(box.left() - kMargin);
  }
  paint_title(*painter, index, font, theme_, room);
  painter->restore();
}

QSize CommandDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const { return {200, kHeight}; }

}  // namespace attn::ui
