// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_filter.h"

#include "ui/route_table/route_model.h"

#include <algorithm>

namespace attn::ui {

RouteFilter::RouteFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(RouteModel::sort_role);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void RouteFilter::set_line(const QString& line) {
  wanted_.clear();
  unwanted_.clear();
  for (const QString& word : line.simplified().split(' ', Qt::SkipEmptyParts)) {
    if (word == "-") continue;
    if (word.startsWith('-')) {
      unwanted_ << word.mid(1);
    } else {
      wanted_ << word;
    }
  }
  invalidateFilter();
}

bool RouteFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  QString line;
  for (int column = 0; column < RouteModel::kColumns; ++column) {
    line += sourceModel()->index(row, column, parent).data().toString() + '\n';
  }
  const auto has = [&](const QString& word) { return line.contains(word, Qt::CaseInsensitive); };
  return std::all_of(wanted_.begin(), wanted_.end(), has) && std::none_of(unwanted_.begin(), unwanted_.end(), has);
}

}  // namespace attn::ui
