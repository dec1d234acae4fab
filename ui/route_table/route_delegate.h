// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QList>
#include <QStyledItemDelegate>
#include <utility>

namespace attn::ui {

/// Paints the cells that are more than text, of routes and of calls: the executed backend with its colour (a ring where
/// the chain was not asked) and a mark where its output was not finite, the sign where it is not the requested one, and
/// the share as a bar.
class RouteDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  /// Which columns of the model are painted here; -1: it has none such.
  struct Columns {
    int executed = -1;
    int requested = -1;
    int share = -1;
    QList<int> shapes;  ///< in the fixed face
    int then = -1;      ///< a name with a sign where it is another than now
    int change = -1;    ///< a change that is better or worse
  };
  RouteDelegate(const Theme& theme, Columns columns, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), theme_(theme), columns_(std::move(columns)) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// What is under a row's cells, and right of its last one.
  void paint_ground(QPainter& painter, const QRect& cell, bool selected, bool group) const;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  void paint_text(QPainter& painter, const QRect& box, const QModelIndex& index, bool group) const;
  void paint_group(QPainter& painter, const QRect& box, const QModelIndex& index) const;
  void paint_executed(QPainter& painter, const QRect& box, const QModelIndex& index) const;
  void paint_requested(QPainter& painter, const QRect& box, const QModelIndex& index) const;
  void paint_share(QPainter& painter, const QRect& box, const QModelIndex& index) const;

  const Theme& theme_;
  Columns columns_;
};

}  // namespace attn::ui
