// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_delegate.h"

#include "ui/route_table/cell_roles.h"

#include <QPainter>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kPad = 6;
constexpr int kDot = 8;
constexpr int kDotGap = 9;

QFont strong(QFont font) {
  font.setWeight(QFont::DemiBold);
  return font;
}

}  // namespace

void RouteDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (columns_.shapes.contains(index.column())) option->font = theme_.fixed_font();
  if (index.data(CellRoles::header_role).toBool()) {
    option->font = strong(option->font);
  }
  if (option->text == "none" || option->text == "–") option->palette.setColor(QPalette::Text, theme_[Ink::dim]);
  option->fontMetrics = QFontMetrics(option->font);
}

void RouteDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  // A style sheet's way to a cell is ten times as long, and a list of calls that follows a job is painted 60 times a
  // second: what the sheet says of a cell is painted here.
  const int column = index.column();
  const bool group = index.data(CellRoles::header_role).toBool();
  painter->save();
  paint_ground(*painter, option.rect, option.state.testFlag(QStyle::State_Selected), group);
  const QRect box = option.rect.adjusted(kPad, 0, -kPad, 0);
  const bool shapes = column == columns_.executed || column == columns_.share;
  if (shapes) painter->setRenderHint(QPainter::Antialiasing);
  if (column == columns_.executed) {
    group ? paint_group(*painter, option.rect, index) : paint_executed(*painter, box, index);
  } else if (column == columns_.requested || column == columns_.then) {
    paint_requested(*painter, box, index);
  } else if (column == columns_.share) {
    paint_share(*painter, box, index);
  } else {
    paint_text(*painter, box, index, group);
  }
  painter->restore();
}

void RouteDelegate::paint_ground(QPainter& painter, const QRect& cell, bool selected, bool group) const {
  if (selected || group) painter.fillRect(cell, theme_[selected ? Ink::selection : Ink::raised]);
  painter.setPen(theme_[Ink::raised]);
  painter.drawLine(cell.bottomLeft(), cell.bottomRight());
}

void RouteDelegate::paint_text(QPainter& painter, const QRect& box, const QModelIndex& index, bool group) const {
  QString text = index.data().toString();
  if (text.isEmpty()) return;
  QFont font = columns_.shapes.contains(index.column()) ? theme_.fixed_font() : theme_.text_font();
  if (group) font = strong(font);
  painter.setFont(font);
  Ink ink = text == "none" || text == "–" || text.startsWith(QStringLiteral("±0")) ? Ink::dim : Ink::text;
  if (index.column() == columns_.change) {
    const int tone = index.data(CellRoles::tone_role).toInt();
    ink = tone < 0 ? Ink::ok : (tone > 0 ? Ink::bad : ink);
  }
  painter.setPen(theme_[ink]);
  const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
  const QFontMetrics metrics = painter.fontMetrics();
  bool fits = metrics.horizontalAdvance(text) <= box.width();
  if (const QString brief = fits ? QString() : index.data(CellRoles::brief_role).toString(); !brief.isEmpty()) {
    text = brief;
    fits = metrics.horizontalAdvance(text) <= box.width();
  }
  painter.drawText(box, static_cast<int>(alignment) | Qt::TextSingleLine,
                   fits ? text : metrics.elidedText(text, Qt::ElideRight, box.width()));
}

void RouteDelegate::paint_group(QPainter& painter, const QRect& box, const QModelIndex& index) const {
  painter.setFont(strong(theme_.text_font()));
  painter.setPen(theme_[Ink::text]);
  painter.drawText(box.adjusted(kPad, 0, -kPad, 0), Qt::AlignVCenter, index.data().toString());
}

void RouteDelegate::paint_executed(QPainter& painter, const QRect& box, const QModelIndex& index) const {
  const QString backend = index.data(CellRoles::backend_role).toString();
  const bool bypassed = index.data(CellRoles::bypassed_role).toBool();
  const QRectF dot(box.left(), box.center().y() - kDot / 2.0 + 0.5, kDot, kDot);
  painter.setPen(bypassed ? QPen(theme_.backend(backend), 2.0) : QPen(Qt::NoPen));
  painter.setBrush(bypassed ? QBrush(Qt::NoBrush) : QBrush(theme_.backend(backend)));
  painter.drawEllipse(bypassed ? dot.adjusted(1, 1, -1, -1) : dot);
  int x = box.left() + kDot + kDotGap;
  const QFont bold = strong(theme_.text_font());
  painter.setFont(bold);
  painter.setPen(theme_[Ink::text]);
  painter.drawText(QRect(x, box.top(), box.right() - x, box.height()), Qt::AlignVCenter,
                   QFontMetrics(bold).elidedText(backend, Qt::ElideMiddle, box.right() - x));
  x += QFontMetrics(bold).horizontalAdvance(backend) + 6;
  if (index.data(CellRoles::bad_role).toBool()) {
    const QString bad = tr("NaN");
    const QRect badge(x, box.center().y() - 8, QFontMetrics(theme_.small_font()).horizontalAdvance(bad) + 8, 17);
    painter.setPen(QPen(theme_[Ink::bad], 1.0));
    painter.setBrush(Qt::NoBrush);
    painter.setFont(theme_.small_font());
    painter.drawRoundedRect(QRectF(badge).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    painter.drawText(badge, Qt::AlignCenter, bad);
    x = badge.right() + 7;
  }
  if (x >= box.right()) return;
  painter.setFont(theme_.text_font());
  painter.setPen(theme_[Ink::dim]);
  const QString variant = index.data(CellRoles::variant_role).toString();
  // The ring says that already: the word stands only where it is whole.
  if (bypassed && painter.fontMetrics().horizontalAdvance(variant) > box.right() - x) return;
  painter.drawText(QRect(x, box.top(), box.right() - x, box.height()), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(variant, Qt::ElideRight, box.right() - x));
}

void RouteDelegate::paint_requested(QPainter& painter, const QRect& box, const QModelIndex& index) const {
  const bool differs = index.data(CellRoles::differs_role).toBool();
  QString name = index.data().toString();
  if (differs) name.chop(2);
  painter.setFont(theme_.text_font());
  painter.setPen(theme_[index.column() == columns_.then && !differs ? Ink::dim : Ink::text]);
  painter.drawText(box, Qt::AlignVCenter, name);
  if (!differs) return;
  const int x = box.left() + painter.fontMetrics().horizontalAdvance(name) + 6;
  painter.setFont(strong(theme_.text_font()));
  painter.setPen(theme_[Ink::pending]);
  painter.drawText(QRect(x, box.top(), box.right() - x, box.height()), Qt::AlignVCenter, "≠");
}

void RouteDelegate::paint_share(QPainter& painter, const QRect& box, const QModelIndex& index) const {
  constexpr int kText = 46;
  const double share = std::clamp(index.data(CellRoles::share_role).toDouble(), 0.0, 1.0);
  const int room = std::max(0, box.width() - kText - 4);
  const double width = share > 0.0 ? std::max(2.0, share * room) : 0.0;
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.backend(index.data(CellRoles::backend_role).toString()));
  painter.drawRoundedRect(QRectF(box.left(), box.center().y() - 3.5, width, 8), 2, 2);
  painter.setFont(theme_.text_font());
  painter.setPen(theme_[Ink::dim]);
  painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
}

QSize RouteDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const QSize plain = QStyledItemDelegate::sizeHint(option, index);
  const int column = index.column();
  if (column == columns_.executed && !index.data(CellRoles::header_role).toBool()) {
    const int name =
        QFontMetrics(strong(theme_.text_font())).horizontalAdvance(index.data(CellRoles::backend_role).toString());
    const bool ring = index.data(CellRoles::bypassed_role).toBool();
    const int variant =
        ring ? 0 : QFontMetrics(theme_.text_font()).horizontalAdvance(index.data(CellRoles::variant_role).toString());
    const int badge = index.data(CellRoles::bad_role).toBool() ? 42 : 0;
    return {2 * kPad + kDot + kDotGap + name + 6 + badge + variant + 4, plain.height()};
  }
  if (column == columns_.requested || column == columns_.then) return {plain.width() + 10, plain.height()};
  if (column == columns_.share) return {76, plain.height()};
  return plain;
}

}  // namespace attn::ui
