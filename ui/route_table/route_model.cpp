// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_model.h"

#include "ui/format/change_text.h"
#include "ui/format/format.h"
#include "ui/route_table/header_cell.h"

#include <algorithm>

namespace attn::ui {

namespace {

/// Cells of these columns change while a run goes on.
bool same_cells(const trace::RouteRow& a, const trace::RouteRow& b) {
  return a.calls == b.calls && a.seconds == b.seconds && a.computed_calls == b.computed_calls &&
         a.first_step == b.first_step && a.last_step == b.last_step && a.density == b.density &&
         a.nan_count == b.nan_count && a.inf_count == b.inf_count && a.error == b.error;
}

bool same_then(const RouteThen& a, const RouteThen& b) {
  return a.calls == b.calls && a.time.seconds == b.time.seconds && a.backends == b.backends && a.moved == b.moved;
}

void add_to(trace::RouteRow& sum, const trace::RouteRow& route) {
  const double seconds = whole_seconds(sum) + whole_seconds(route);
  sum.first_step = sum.calls == 0 ? route.first_step : std::min(sum.first_step, route.first_step);
  sum.last_step = std::max(sum.last_step, route.last_step);
  sum.calls += route.calls;
  // The sum of whole times stands for calls that were all computed, unless some route had none.
  sum.computed_calls += route.computed_calls;
  sum.seconds = sum.calls > 0 ? seconds * static_cast<double>(sum.computed_calls) / static_cast<double>(sum.calls) : 0;
  sum.nan_count += route.nan_count;
  sum.inf_count += route.inf_count;
  if (route.first_bad_step >= 0 && (sum.first_bad_step < 0 || route.first_bad_step < sum.first_bad_step)) {
    sum.first_bad_step = route.first_bad_step;
  }
}

}  // namespace

int RouteModel::group_key(const trace::RouteRow& route, QString& name) const {
  switch (grouping_) {
    case Grouping::role:
      name = cell_text(route, RouteColumn::role, totals_);
      return rank_of(route.id.role);
    case Grouping::step:
      name = tr("step %1").arg(route.first_step);
      return route.first_step;
    case Grouping::backend:
      name = text_of(route.id.backend);
      return -1;  // by name, in order of first sighting
    case Grouping::none:
      break;
  }
  return 0;
}

std::vector<RouteModel::Row> RouteModel::rows_of(const trace::TraceSnapshot& snapshot) const {
  std::vector<Row> rows;
  if (grouping_ != Grouping::step) {
    rows.reserve(snapshot.routes.size());
    for (std::size_t i = 0; i < snapshot.routes.size(); ++i) {
      rows.push_back({snapshot.routes[i], 0, false, {}, match_->then(i)});
    }
  } else {
    rows.reserve(snapshot.steps.size());
    for (const trace::RouteStep& step : snapshot.steps) {
      trace::RouteRow route = snapshot.routes[step.route];
      route.first_step = route.last_step = step.step;
      route.calls = step.calls;
      route.computed_calls = step.computed_calls;
      route.seconds = step.seconds;
      route.density = step.density;
      rows.push_back({std::move(route), 0, false, {}, match_->then(step.route, step.step)});
    }
  }
  if (errors_) {
    for (Row& row : rows) {
      if (const auto measured = errors_(row.route)) row.route.error = measured->relative_l1;
    }
  }
  if (grouping_ != Grouping::none) add_headers(rows);
  return rows;
}

void RouteModel::add_headers(std::vector<Row>& rows) const {
  std::vector<Row> headers;
  const std::size_t routes = rows.size();
  for (std::size_t i = 0; i < routes; ++i) {
    QString name;
    int number = group_key(rows[i].route, name);
    auto header = std::find_if(headers.begin(), headers.end(),
                               [&](const Row& h) { return number < 0 ? h.name == name : h.group == number; });
    if (header == headers.end()) {
      if (number < 0) number = static_cast<int>(headers.size());
      headers.push_back({{}, number, true, name});
      header = headers.end() - 1;
      header->route.id.backend = grouping_ == Grouping::backend ? rows[i].route.id.backend : std::string();
      header->route.id.role = grouping_ == Grouping::backend ? Role::none : rows[i].route.id.role;
    }
    rows[i].group = header->group;
    add_to(header->route, rows[i].route);
    header->then.calls += rows[i].then.calls;
    header->then.time.add(rows[i].then.time);
  }
  std::move(headers.begin(), headers.end(), std::back_inserter(rows));
}

void RouteModel::set_snapshot(const trace::TraceSnapshot& snapshot) {
  RouteTotals totals;
  totals.calls = snapshot.calls;
  totals.in_seconds = !snapshot.routes.empty();
  for (const trace::RouteRow& route : snapshot.routes) {
    totals.seconds += whole_seconds(route);
    totals.in_seconds = totals.in_seconds && route.computed_calls > 0;
  }
  const bool unit_changed = totals.in_seconds != totals_.in_seconds;
  totals_ = totals;
  snapshot_ = snapshot;
  match();
  take(rows_of(snapshot), unit_changed);
}

void RouteModel::match() {
  match_ = std::make_shared<const RouteMatch>();
  against_ = {};
  if (!baseline_) return;
  const CallIndex run(snapshot_);
  match_ = std::make_shared<const RouteMatch>(baseline_->index, run);
  against_ = RunAgainst(*match_, baseline_->index, run);
}

std::shared_ptr<const CallChanges> RouteModel::call_changes() const {
  return baseline_ ? std::make_shared<const CallChanges>(match_, snapshot_, baseline_->name) : nullptr;
}

void RouteModel::refresh() {
  take(rows_of(snapshot_), false);
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

void RouteModel::set_baseline(std::shared_ptr<const BaselineRoutes> baseline) {
  if (baseline == baseline_) return;
  baseline_ = std::move(baseline);
  match();
  refresh();
}

void RouteModel::set_errors(ErrorSource source) {
  errors_ = std::move(source);
  refresh();
}

void RouteModel::set_grouping(Grouping grouping) {
  if (grouping == grouping_) return;
  beginResetModel();
  grouping_ = grouping;
  rows_ = rows_of(snapshot_);
  headers_ =
      static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.header; }));
  endResetModel();
}

void RouteModel::take(std::vector<Row> next, bool unit_changed) {
  const auto is_header = [](const Row& row) { return row.header; };
  const auto next_headers = static_cast<std::size_t>(std::count_if(next.begin(), next.end(), is_header));
  const std::size_t old_routes = rows_.size() - headers_;
  const std::size_t new_routes = next.size() - next_headers;
  const auto same = [](const Row& a, const Row& b) {
    return a.route.id == b.route.id && a.group == b.group && (a.header || a.route.first_step == b.route.first_step);
  };
  const bool grows =
      new_routes >= old_routes && next_headers >= headers_ &&
      std::equal(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(old_routes), next.begin(), same) &&
      std::equal(rows_.begin() + static_cast<std::ptrdiff_t>(old_routes), rows_.end(),
                 next.begin() + static_cast<std::ptrdiff_t>(new_routes), same);
  if (!grows) {
    beginResetModel();
    rows_ = std::move(next);
    headers_ = next_headers;
    endResetModel();
    return;
  }
  std::vector<Change> changed(rows_.size(), Change::none);
  const auto put = [&](std::size_t to, std::size_t from) {
    const bool same_row = same_cells(rows_[to].route, next[from].route) && same_then(rows_[to].then, next[from].then);
    changed[to] = same_row ? Change::none : Change::cells;
    rows_[to] = next[from];
  };
  for (std::size_t i = 0; i < old_routes; ++i) put(i, i);
  const bool more = next.size() > rows_.size();
  // Headers change before the rows between come in, so that every row is right at each signal.
  for (std::size_t i = 0; i < headers_; ++i) put(old_routes + i, new_routes + i);
  const auto insert = [&](std::size_t at, std::size_t from, std::size_t count) {
    if (count == 0) return;
    beginInsertRows({}, static_cast<int>(at), static_cast<int>(at + count) - 1);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), next.begin() + static_cast<std::ptrdiff_t>(from),
                 next.begin() + static_cast<std::ptrdiff_t>(from + count));
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), count, Change::is_new);
    endInsertRows();
  };
  insert(old_routes, old_routes, new_routes - old_routes);
  const std::size_t old_headers = std::exchange(headers_, next_headers);
  insert(new_routes + old_headers, new_routes + old_headers, next_headers - old_headers);
  const bool any = more || unit_changed || std::find(changed.begin(), changed.end(), Change::cells) != changed.end();
  if (any && old_routes > 0) tell_changes(changed);
}

void RouteModel::tell_changes(const std::vector<Change>& changed) {
  // A share is of the whole, so it moves with every call; the other cells of a row do not, and need no sorting again.
  for (std::size_t i = 0; i < changed.size();) {
    std::size_t end = i;
    while (end < changed.size() && changed[end] == Change::cells) ++end;
    if (end > i) emit dataChanged(index(static_cast<int>(i), 0), index(static_cast<int>(end) - 1, kColumns - 1));
    i = std::max(end, i + 1);
  }
  const bool others = std::find(changed.begin(), changed.end(), Change::none) != changed.end();
  if (others) emit dataChanged(index(0, share), index(rowCount() - 1, share));
  if (others && baseline_) emit dataChanged(index(0, share_change), index(rowCount() - 1, share_change));
}

int RouteModel::find(const trace::RouteIdentity& id, std::optional<int> step) const {
  const auto is_it = [&](const Row& row) {
    return !row.header && row.route.id == id && (grouping_ != Grouping::step || !step || row.route.first_step == *step);
  };
  const auto at = std::find_if(rows_.begin(), rows_.end(), is_it);
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

int RouteModel::first_step(const trace::RouteIdentity& id) const {
  for (const trace::RouteRow& route : snapshot_.routes) {
    if (route.id == id) return route.first_step;
  }
  return 0;
}

int RouteModel::last_step(const trace::RouteIdentity& id) const {
  for (const trace::RouteRow& route : snapshot_.routes) {
    if (route.id == id) return route.last_step;
  }
  return 0;
}

FilterRow RouteModel::filter_row(int at) const {
  const trace::RouteRow& route = row(at);
  QStringList words;
  for (int column = 0; column < kColumns; ++column) {
    const auto as = static_cast<RouteColumn>(column);
    words << (is_change(as) ? index(at, column).data().toString() : cell_text(route, as, totals_));
  }
  return ui::filter_row(route, whole_seconds(route), share_of(route, totals_), words.join('\n'));
}

QStringList RouteModel::values_of(FilterField field) const {
  QStringList values;
  for (const trace::RouteRow& route : snapshot_.routes) {
    for (int column = 0; column < kColumns; ++column) {
      const auto as = static_cast<RouteColumn>(column);
      if (spec_of(as).field != field || spec_of(field).kind != FieldKind::text) continue;
      const QString text =
          as == RouteColumn::executed ? text_of(route.id.backend) : cell_value(route, as, totals_).toString();
      if (!text.isEmpty() && !values.contains(text)) values << text;
    }
    if (field == FilterField::executed && !values.contains(text_of(route.executed))) values << text_of(route.executed);
  }
  return values;
}

int RouteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int RouteModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant RouteModel::header_data(const Row& asked, int column, int role_asked) const {
  const auto as = static_cast<RouteColumn>(column);
  if (is_change(as) && role_asked != header_role) return change_data(asked, as, role_asked);
  const bool sums = column == calls || column == time || column == share;
  switch (role_asked) {
    case Qt::DisplayRole:
      if (column == executed) return asked.name;
      return sums ? cell_text(asked.route, as, totals_) : QString();
    case sort_role:
      return sums ? cell_value(asked.route, as, totals_) : QVariant(asked.name);
    case share_role:
      return share_of(asked.route, totals_);
    case backend_role:
      return text_of(asked.route.id.backend);
    case header_role:
      return true;
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((spec_of(as).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant RouteModel::change_data(const Row& asked, RouteColumn column, int role_asked) const {
  if (role_asked == Qt::TextAlignmentRole) {
    return QVariant::fromValue((spec_of(column).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role_asked == header_role) return asked.header;
  if (!baseline_) return {};
  const RouteChange change = change_of(asked);
  switch (role_asked) {
    case Qt::DisplayRole:
      return change_text(change, column, asked.header);
    case Qt::ToolTipRole:
      if (asked.header) return {};
      return column == time_change ? change_text(change, column, false) + '\n' + change_tip(change)
                                   : change_tip(change);
    case brief_role:
      return brief_text(change, column);
    case sort_role:
      return change_value(change, column);
    case differs_role:
      return column == backend_then && asked.then.moved && !asked.header;
    case tone_role:
      return change_tone(change, column);
    default:
      return {};
  }
}

QString RouteModel::tip_of(const Row& asked, int column) const {
  const trace::RouteRow& route = asked.route;
  QStringList lines;
  if (column == requested && is_fallback(route)) {
    lines << tr("Asked for %1, served by %2. Select the row to see why.")
                 .arg(text_of(route.requested), text_of(route.executed));
  }
  if (column == executed && !variant_text(route).isEmpty()) lines << cell_text(route, RouteColumn::executed, totals_);
  if (column == executed && route.id.bypassed) {
    lines << tr("Bypassed: a dispatcher in front of the chain served these calls, the chain was not asked.");
  }
  if (column == executed && route.first_bad_step >= 0) {
    lines << tr("Its output is not finite: %1.").arg(cell_text(route, RouteColumn::finite, totals_));
  }
  if (column == error && errors_) {
    const auto measured = errors_(route);
    lines << (measured ? measured->tip : tr("Not measured: the row's menu has Measure error."));
  }
  return lines.join('\n');
}

QVariant RouteModel::data(const QModelIndex& index, int role_asked) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Row& asked = rows_[static_cast<std::size_t>(index.row())];
  const trace::RouteRow& route = asked.route;
  const int column = index.column();
  if (asked.header) return header_data(asked, column, role_asked);
  const auto as = static_cast<RouteColumn>(column);
  if (is_change(as)) return change_data(asked, as, role_asked);
  switch (role_asked) {
    case Qt::DisplayRole:
      return cell_text(route, as, totals_);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((spec_of(as).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::ToolTipRole: {
      const QString tip = tip_of(asked, column);
      return tip.isEmpty() ? QVariant() : tip;
    }
    case brief_role:
      if (column != time || route.computed_calls == 0) return {};
      return (route.computed_calls < route.calls ? QStringLiteral("≈") : QString()) +
             brief_seconds(whole_seconds(route));
    case sort_role:
      return cell_value(route, as, totals_);
    case backend_role:
      return text_of(route.id.backend);
    case variant_role:
      return variant_text(route);
    case differs_role:
      return is_fallback(route);
    case share_role:
      return share_of(route, totals_);
    case header_role:
      return false;
    case bypassed_role:
      return route.id.bypassed;
    case bad_role:
      return route.first_bad_step >= 0;
    default:
      return {};
  }
}

QVariant RouteModel::headerData(int section, Qt::Orientation orientation, int role_asked) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  return header_cell("RouteTable", spec_of(static_cast<RouteColumn>(section)), role_asked);
}

}  // namespace attn::ui
