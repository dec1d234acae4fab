// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace attn::ui {

namespace {

constexpr std::size_t kLookEvery = 1U << 14;

double volume(const trace::EventShape& shape) {
  double product = 1.0;
  for (int i = 0; i < shape.rank; ++i) product *= shape.size[static_cast<std::size_t>(i)];
  return product;
}

/// Where each kind stands in a column: by size for a shape, else among the different texts.
std::vector<double> kind_keys(const trace::CallView& calls, CallColumn column) {
  const trace::CallRecord none;
  std::vector<double> keys(calls.kinds());
  std::vector<QString> texts;
  for (std::size_t i = 0; i < calls.kinds(); ++i) {
    const trace::RouteRow& route = calls.kind(i).route;
    if (column == CallColumn::query) keys[i] = volume(route.id.query);
    if (column == CallColumn::key) keys[i] = volume(route.id.key);
    if (column == CallColumn::value) keys[i] = volume(route.value);
    texts.push_back(cell_text({0, none, calls.kind(i)}, column).toCaseFolded());
  }
  if (column == CallColumn::query || column == CallColumn::key || column == CallColumn::value) return keys;
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return texts[a] < texts[b]; });
  double rank = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && texts[order[i]] != texts[order[i - 1]]) rank += 1.0;
    keys[order[i]] = rank;
  }
  return keys;
}

/// What is unknown comes last, whatever the direction.
double key_of(const trace::CallRecord& call, CallColumn column, bool descending) {
  const double last = descending ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  switch (column) {
    case CallColumn::begin:
      return call.timed() ? static_cast<double>(call.begin_ns) : last;
    case CallColumn::time:
      return call.timed() ? static_cast<double>(call.seconds) : last;
    case CallColumn::step:
      return call.step;
    case CallColumn::kept:
      return static_cast<double>(call.density);
    case CallColumn::finite:
      return static_cast<double>(call.nan_count) + call.inf_count;
    default:
      return 0.0;
  }
}

/// Keys of the columns that compare: what is new or moved first when descending; the change of time.
class ChangeKeys {
 public:
  ChangeKeys(const trace::CallView& calls, const CallQuery& query) : changes_(*query.changes), query_(query) {
    for (std::size_t i = 0; i < calls.kinds(); ++i) routes_.push_back(changes_.route_of(calls.kind(i)));
  }
  [[nodiscard]] double operator()(const trace::CallRecord& call) const {
    const RouteThen& then = changes_.then(routes_[call.kind], call.step);
    if (query_.column == CallColumn::backend_then) return then.calls == 0 ? 2.0 : (then.moved ? 1.0 : 0.0);
    constexpr double kLast = std::numeric_limits<double>::infinity();
    return time_change(call, then).value_or(query_.descending ? -kLast : kLast);
  }

 private:
  const CallChanges& changes_;
  const CallQuery& query_;
  std::vector<std::size_t> routes_;
};

struct Keyed {
  double key;
  std::uint32_t index;
};

}  // namespace

bool CallFilter::accepts(const trace::CallView& calls, const trace::CallRecord& call) {
  while (kinds_.size() <= call.kind) {
    const trace::CallKind& kind = calls.kind(kinds_.size());
    FilterRow row = filter_row(kind, kind_words(kind));
    const std::optional<bool> decided = filter_.decide(row);
    kinds_.push_back({decided, std::move(row)});
  }
  Kind& kind = kinds_[call.kind];
  if (kind.decided) return *kind.decided;
  take_call(kind.row, call);
  return filter_.matches(kind.row);
}

std::vector<std::uint32_t> ordered_calls(const trace::CallView& calls, const CallQuery& query,
                                         const std::atomic<bool>& stop) {
  CallFilter filter(query.filter);
  const bool all = query.filter.is_empty();
  std::vector<std::uint32_t> order;
  order.reserve(all ? calls.size() : 0);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i % kLookEvery == 0 && stop) return order;
    if (all || filter.accepts(calls, calls[i])) order.push_back(static_cast<std::uint32_t>(i));
  }
  if (!query.column) return order;
  if (*query.column == CallColumn::number) {
    if (query.descending) std::reverse(order.begin(), order.end());
    return order;
  }
  const bool of_kind = spec_of(*query.column).of_kind;
  const std::vector<double> keys = of_kind ? kind_keys(calls, *query.column) : std::vector<double>();
  std::optional<ChangeKeys> changes;
  if (is_change(*query.column) && query.changes) changes.emplace(calls, query);
  std::vector<Keyed> keyed(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const trace::CallRecord& call = calls[order[i]];
    const double key = changes   ? (*changes)(call)
                       : of_kind ? keys[call.kind]
                                 : key_of(call, *query.column, query.descending);
    keyed[i] = {query.descending ? -key : key, order[i]};
  }
  if (stop) return order;
  std::sort(keyed.begin(), keyed.end(),
            [](const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; });
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = keyed[i].index;
  return order;
}

std::optional<FoundCall> find_call(const trace::CallView& calls, const std::vector<std::uint32_t>* order,
                                   const Filter& filter, std::ptrdiff_t row, bool backwards,
                                   const std::atomic<bool>& stop) {
  CallFilter accepts(filter);
  const std::size_t rows = order != nullptr ? order->size() : calls.size();
  FoundCall last;
  std::optional<FoundCall> first;
  std::optional<FoundCall> before;
  std::optional<FoundCall> after;
  std::size_t count = 0;
  for (std::size_t at = 0; at < rows; ++at) {
    if (at % kLookEvery == 0 && stop) return std::nullopt;
    if (!accepts.accepts(calls, calls[order != nullptr ? (*order)[at] : at])) continue;
    last = {at, count, 0};
    if (!first) first = last;
    if (static_cast<std::ptrdiff_t>(at) < row) before = last;
    if (static_cast<std::ptrdiff_t>(at) > row && !after) after = last;
    ++count;
  }
  if (!first) return std::nullopt;
  FoundCall hit = backwards ? before.value_or(last) : after.value_or(*first);
  hit.count = count;
  return hit;
}

}  // namespace attn::ui
