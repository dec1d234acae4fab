// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_model.h"

#include "ui/format/format.h"
#include "ui/route_table/header_cell.h"
#include "ui/route_table/route_columns.h"

#include <algorithm>

namespace attn::ui {

namespace {

/// A sorted list that grows is made again after this, and after as long again as making it took three times.
constexpr int kAgainMs = 250;

}  // namespace

CallModel::CallModel(QObject* parent) : QAbstractTableModel(parent), postbox_(this) {
  again_.setSingleShot(true);
  connect(&again_, &QTimer::timeout, this, &CallModel::ask);
}

void CallModel::set_calls(const trace::CallView& calls) {
  const bool another = calls.run() != newest_.run() || calls.size() < newest_.size();
  newest_ = calls;
  if (another) {
    start_over(calls);
    return;
  }
  if (calls.size() == calls_.size() && !busy_) return;
  if (query_.column) {
    if (!busy_ && !again_.isActive()) again_.start(kAgainMs);
    return;
  }
  // A question is under way; its answer brings the rest in.
  if (busy_) return;
  if (!query_.filter.is_empty() && calls.size() - calls_.size() > kAtOnce) {
    ask();
  } else {
    append(calls);
  }
}

void CallModel::start_over(const trace::CallView& calls) {
  ++question_;
  again_.stop();
  beginResetModel();
  order_.clear();
  ordered_ = !query_.is_plain();
  live_filter_ = std::make_unique<CallFilter>(query_.filter);
  // With a query nothing is shown until the answer is there.
  calls_ = ordered_ ? trace::CallView() : calls;
  endResetModel();
  set_busy(false);
  if (ordered_ && !calls.empty()) ask();
}

void CallModel::append(const trace::CallView& calls) {
  const std::size_t from = calls_.size();
  if (!ordered_) {
    const auto first = static_cast<int>(from);
    if (calls.size() == from) return;
    beginInsertRows({}, first, static_cast<int>(calls.size()) - 1);
    calls_ = calls;
    endInsertRows();
    return;
  }
  std::vector<std::uint32_t> fresh;
  for (std::size_t i = from; i < calls.size(); ++i) {
    if (live_filter_->accepts(calls, calls[i])) fresh.push_back(static_cast<std::uint32_t>(i));
  }
  calls_ = calls;
  if (fresh.empty()) return;
  const auto first = static_cast<int>(order_.size());
  beginInsertRows({}, first, first + static_cast<int>(fresh.size()) - 1);
  order_.insert(order_.end(), fresh.begin(), fresh.end());
  endInsertRows();
}

void CallModel::set_filter(const Filter& filter) {
  if (filter.is_empty() && query_.filter.is_empty()) return;
  query_.filter = filter;
  live_filter_ = std::make_unique<CallFilter>(filter);
  ask();
}

void CallModel::set_changes(std::shared_ptr<const CallChanges> changes) {
  if (changes == query_.changes) return;
  query_.changes = std::move(changes);
  if (query_.column && is_change(*query_.column) && !busy_ && !again_.isActive()) again_.start(kAgainMs);
  if (rowCount() == 0) return;
  emit dataChanged(index(0, static_cast<int>(CallColumn::backend_then)), index(rowCount() - 1, kCallColumnCount - 1));
}

void CallModel::sort(int column, Qt::SortOrder order) {
  const std::optional<CallColumn> wanted =
      column < 0 || column >= kCallColumnCount ? std::nullopt : std::optional(static_cast<CallColumn>(column));
  const bool descending = order == Qt::DescendingOrder;
  if (wanted == query_.column && (!wanted || descending == query_.descending)) return;
  query_.column = wanted;
  query_.descending = descending;
  ask();
}

void CallModel::ask() {
  ++question_;
  again_.stop();
  asked_.start();
  set_busy(true);
  worker_.ask([this, address = postbox_.address(), number = question_, calls = newest_,
               query = query_](const std::atomic<bool>& stop) {
    auto order = std::make_shared<std::vector<std::uint32_t>>();
    if (!query.is_plain()) *order = ordered_calls(calls, query, stop);
    if (stop) return;
    address.post([this, number, calls, order] {
      if (number == question_) take(calls, std::move(*order));
    });
  });
}

void CallModel::take(const trace::CallView& calls, std::vector<std::uint32_t> order) {
  beginResetModel();
  calls_ = calls;
  ordered_ = !query_.is_plain();
  order_ = std::move(order);
  endResetModel();
  set_busy(false);
  if (newest_.size() == calls_.size()) return;
  if (query_.column) {
    again_.start(std::max<int>(kAgainMs, 3 * static_cast<int>(asked_.elapsed())));
  } else {
    set_calls(newest_);
  }
}

void CallModel::set_busy(bool busy) {
  if (busy == busy_) return;
  busy_ = busy;
  emit busy_changed(busy);
}

void CallModel::find(const Filter& filter, int row, bool backwards) {
  auto order = ordered_ ? std::make_shared<std::vector<std::uint32_t>>(order_) : nullptr;
  finder_.ask([this, address = postbox_.address(), calls = calls_, order, filter, row,
               backwards](const std::atomic<bool>& stop) {
    const std::optional<FoundCall> hit = find_call(calls, order.get(), filter, row, backwards, stop);
    if (stop) return;
    address.post([this, hit] {
      if (hit) {
        emit found(static_cast<int>(hit->row), static_cast<qint64>(hit->place), static_cast<qint64>(hit->count));
      } else {
        emit found(-1, 0, 0);
      }
    });
  });
}

std::size_t CallModel::call_at(int row) const {
  return ordered_ ? order_[static_cast<std::size_t>(row)] : static_cast<std::size_t>(row);
}

int CallModel::row_of(std::size_t call) const {
  if (!ordered_) return call < calls_.size() ? static_cast<int>(call) : -1;
  const auto wanted = static_cast<std::uint32_t>(call);
  if (query_.column) {
    const auto at = std::find(order_.begin(), order_.end(), wanted);
    return at == order_.end() ? -1 : static_cast<int>(at - order_.begin());
  }
  const auto at = std::lower_bound(order_.begin(), order_.end(), wanted);
  return at == order_.end() || *at != wanted ? -1 : static_cast<int>(at - order_.begin());
}

CallAt CallModel::at(int row) const {
  const std::size_t index = call_at(row);
  const trace::CallRecord& call = calls_[index];
  return {index, call, calls_.kind_of(call), query_.changes.get()};
}

int CallModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return static_cast<int>(ordered_ ? order_.size() : calls_.size());
}
int CallModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kCallColumnCount; }

QVariant CallModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const CallAt asked = at(index.row());
  const auto column = static_cast<CallColumn>(index.column());
  const trace::RouteRow& route = asked.kind.route;
  switch (role) {
    case Qt::DisplayRole:
      return cell_text(asked, column);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((spec_of(column).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
      if (is_change(column)) return change_tip(asked);
      return column == CallColumn::requested && is_fallback(route)
                 ? tr("Asked for %1, served by %2. Select the row to see why.")
                       .arg(text_of(route.requested), text_of(route.executed))
                 : QVariant();
    case backend_role:
      return text_of(route.id.backend);
    case variant_role:
      return variant_text(route);
    case differs_role:
      if (column == CallColumn::backend_then) {
        return asked.changes != nullptr && asked.changes->then(asked.kind, asked.call.step).moved;
      }
      return is_fallback(route);
    case brief_role:
      return brief_text(asked, column);
    case tone_role:
      return change_tone(asked, column);
    case bypassed_role:
      return route.id.bypassed;
    case bad_role:
      return asked.call.nan_count + asked.call.inf_count > 0;
    default:
      return {};
  }
}

QVariant CallModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kCallColumnCount) return {};
  return header_cell("CallList", spec_of(static_cast<CallColumn>(section)), role);
}

}  // namespace attn::ui
