// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/compare/route_match.h"

#include <QString>
#include <memory>
#include <vector>

namespace attn::ui {

/// What single calls of a run were in the baseline: all calls of their route in their step together, and where the
/// baseline has none there, those of the whole route. Plain data, for any thread.
class CallChanges {
 public:
  /// `match` is of `run` against the baseline, which is called `name` ("#2").
  CallChanges(std::shared_ptr<const RouteMatch> match, const trace::TraceSnapshot& run, QString name);

  [[nodiscard]] const QString& name() const noexcept { return name_; }
  /// The route of a kind of call, for then(); found by search, so it is asked once for a kind.
  [[nodiscard]] std::size_t route_of(const trace::CallKind& kind) const;
  /// With `calls` 0 where the baseline has no such call.
  [[nodiscard]] const RouteThen& then(std::size_t route, std::int32_t step) const;
  [[nodiscard]] const RouteThen& then(const trace::CallKind& kind, std::int32_t step) const {
    return then(route_of(kind), step);
  }

 private:
  std::shared_ptr<const RouteMatch> match_;
  std::vector<trace::RouteIdentity> routes_;
  QString name_;
};

/// Seconds of one of those calls, on average; unknown where one of them was not timed.
[[nodiscard]] CallTime each_of(const RouteThen& then);

}  // namespace attn::ui
