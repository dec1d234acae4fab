// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QPainter>
#include <QStyledItemDelegate>

namespace attn::ui {

/// A choice of completion: what would be written, and beside it what that means.
class ChoiceDelegate final : public QStyledItemDelegate {
 public:
  static constexpr int kHelpRole = Qt::UserRole + 2;

  ChoiceDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, theme_[Ink::selection]);
    const QRect box = option.rect.adjusted(kPad, 0, -kPad, 0);
    painter->setFont(theme_.text_font());
    painter->setPen(theme_[Ink::text]);
    painter->drawText(box, Qt::AlignVCenter | Qt::AlignLeft, index.data().toString());
    painter->setPen(theme_[Ink::dim]);
    painter->drawText(box.adjusted(kNames, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                      index.data(kHelpRole).toString());
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    const QFontMetrics metrics(theme_.text_font());
    const QString help = index.data(kHelpRole).toString();
    const int name = metrics.horizontalAdvance(index.data().toString());
    return {2 * kPad + (help.isEmpty() ? name : kNames + metrics.horizontalAdvance(help)) + 4, metrics.height() + 7};
  }

 private:
  static constexpr int kPad = 8;
  static constexpr int kNames = 96;
  const Theme& theme_;
};

}  // namespace attn::ui
