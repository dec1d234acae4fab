// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter.h"

#include <QSortFilterProxyModel>

namespace attn::ui {

/// Keeps the routes that a filter lets through and the groups that still have one, each group's row before its routes
/// and the groups in their order, however the routes are sorted. Distinct routes are few, so a sorting proxy is right
/// here.
class RouteFilter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RouteFilter(QObject* parent = nullptr);
  void set_filter(Filter filter);
  /// Routes that are shown, without the rows of groups.
  [[nodiscard]] int routes() const;

  /// Column -1: in order of first sighting.
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
  /// After the model's grouping became another one.
  void sort_again();

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  [[nodiscard]] bool accepts(int row) const;

  Filter filter_;
  int column_ = -1;
  Qt::SortOrder order_ = Qt::AscendingOrder;
};

}  // namespace attn::ui
