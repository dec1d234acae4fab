// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/call_changes.h"

#include <algorithm>

namespace attn::ui {

CallChanges::CallChanges(std::shared_ptr<const RouteMatch> match, const trace::TraceSnapshot& run, QString name)
    : match_(std::move(match)), name_(std::move(name)) {
  routes_.reserve(run.routes.size());
  for (const trace::RouteRow& route : run.routes) routes_.push_back(route.id);
}

std::size_t CallChanges::route_of(const trace::CallKind& kind) const {
  return static_cast<std::size_t>(std::find(routes_.begin(), routes_.end(), kind.route.id) - routes_.begin());
}

const RouteThen& CallChanges::then(std::size_t route, std::int32_t step) const {
  const RouteThen& in_step = match_->then(route, step);
  return in_step.calls > 0 ? in_step : match_->then(route);
}

CallTime each_of(const RouteThen& then) {
  if (then.calls == 0 || !then.time.known) return {0.0, false, false};
  return {then.time.seconds / static_cast<double>(then.calls), true, then.time.scaled};
}

}  // namespace attn::ui
