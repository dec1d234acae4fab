// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_filter.h"

#include "ui/route_table/route_model.h"

namespace attn::ui {

RouteFilter::RouteFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(RouteModel::sort_role);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void RouteFilter::set_filter(Filter filter) {
  filter_ = std::move(filter);
  invalidateFilter();
}

int RouteFilter::routes() const {
  int count = 0;
  for (int at = 0; at < rowCount(); ++at) count += index(at, 0).data(RouteModel::header_role).toBool() ? 0 : 1;
  return count;
}

void RouteFilter::sort(int column, Qt::SortOrder order) {
  column_ = column;
  order_ = order;
  sort_again();
}

void RouteFilter::sort_again() {
  const auto* model = static_cast<const RouteModel*>(sourceModel());
  const bool groups = model != nullptr && model->grouping() != Grouping::none;
  // Groups want sorting even when routes do not.
  QSortFilterProxyModel::sort(-1);
  if (column_ >= 0 || groups)
    QSortFilterProxyModel::sort(std::max(column_, 0), column_ < 0 ? Qt::AscendingOrder : order_);
}

bool RouteFilter::accepts(int row) const {
  return filter_.matches(static_cast<const RouteModel*>(sourceModel())->filter_row(row));
}

bool RouteFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  if (filter_.is_empty()) return true;
  const auto* model = static_cast<const RouteModel*>(sourceModel());
  if (!model->is_header(row)) return accepts(row);
  for (int at = 0; at < model->rowCount(); ++at) {
    if (!model->is_header(at) && model->group_of(at) == model->group_of(row) && accepts(at)) return true;
  }
  return false;
}

bool RouteFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const auto* model = static_cast<const RouteModel*>(sourceModel());
  const int a = left.row();
  const int b = right.row();
  // Descending order asks the other way round, but groups stay in theirs.
  const bool upwards = sortOrder() == Qt::AscendingOrder;
  if (model->group_of(a) != model->group_of(b)) return (model->group_of(a) < model->group_of(b)) == upwards;
  if (model->is_header(a) != model->is_header(b)) return model->is_header(a) == upwards;
  if (column_ < 0) return a < b;
  return QSortFilterProxyModel::lessThan(left, right);
}

}  // namespace attn::ui
