// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QStyledItemDelegate>

namespace attn::ui {

/// Paints the cells that are more than text: the executed backend with its colour, the sign where it is not the
/// requested one, and the share as a bar.
class RouteDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  RouteDelegate(const Theme& theme, QObject* parent = nullptr) : QStyledItemDelegate(parent), theme_(theme) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  void paint_executed(QPainter& painter, const QRect& box, const QModelIndex& index) const;
  void paint_requested(QPainter& painter, const QRect& box, const QModelIndex& index) const;
  void paint_share(QPainter& painter, const QRect& box, const QModelIndex& index) const;

  const Theme& theme_;
};

}  // namespace attn::ui
