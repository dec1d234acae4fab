// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_row.h"

#include "ui/format/format.h"

namespace attn::ui {

namespace {

using F = FilterField;

double size_at(const trace::EventShape& shape, int from_last) {
  return shape.rank >= from_last ? shape.size[static_cast<std::size_t>(shape.rank - from_last)] : 1;
}

void take_route(FilterRow& row, const trace::RouteRow& route) {
  row.set_text(F::role, text_of(name_of(route.id.role)));
  row.set_text(F::backend, text_of(route.id.backend));
  row.set_text(F::kernel, text_of(route.variant));
  row.set_text(F::requested, text_of(route.requested));
  row.set_text(F::selected, text_of(route.selected));
  row.set_text(F::executed, text_of(route.executed));
  row.set_text(F::dtype, dtype_text(route));
  row.set_text(F::mask, mask_text(route));
  row.set_text(F::strides, strides_text(route));
  row.set_flag(F::fallback, is_fallback(route));
  row.set_flag(F::sparse, route.id.backend != route.executed);
  row.set_number(F::query, size_at(route.id.query, 2));
  row.set_number(F::key, size_at(route.id.key, 2));
  row.set_number(F::heads, size_at(route.id.query, 3));
  row.set_number(F::dim, size_at(route.id.query, 1));
  row.set_number(F::batch, size_at(route.id.query, 4));
}

}  // namespace

FilterRow filter_row(const trace::RouteRow& route, double seconds, double share, const QString& words) {
  FilterRow row;
  take_route(row, route);
  row.set_number(F::step, route.first_step, route.last_step);
  row.set_number(F::calls, static_cast<double>(route.calls));
  if (route.computed_calls > 0) row.set_number(F::time, seconds);
  row.set_number(F::share, share);
  if (route.error) row.set_number(F::error, *route.error);
  row.set_number(F::kept, route.density);
  row.set_number(F::nan, static_cast<double>(route.nan_count));
  row.set_number(F::inf, static_cast<double>(route.inf_count));
  row.words = words.toCaseFolded();
  return row;
}

FilterRow filter_row(const trace::CallKind& kind, const QString& words) {
  FilterRow row;
  take_route(row, kind.route);
  row.set_number(F::calls, 1.0);
  row.words = words.toCaseFolded();
  return row;
}

void take_call(FilterRow& row, const trace::CallRecord& call) {
  row.set_number(F::step, call.step);
  row.numbers[static_cast<std::size_t>(F::time)] = {};
  if (call.timed()) row.set_number(F::time, static_cast<double>(call.seconds));
  row.set_number(F::kept, static_cast<double>(call.density));
  row.set_number(F::nan, call.nan_count);
  row.set_number(F::inf, call.inf_count);
}

}  // namespace attn::ui
