// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/route_match.h"
#include "ui/route_table/route_columns.h"

#include <QVariant>
#include <memory>

namespace attn::ui {

/// A run that others are compared with, as the route table needs it.
struct BaselineRoutes {
  explicit BaselineRoutes(const trace::TraceSnapshot& run, QString written_name);
  CallIndex index;
  QString name;  ///< "#2"
};

/// A route now and in the baseline.
struct RouteChange {
  const trace::RouteRow& now;
  const RouteThen& then;
  const RouteTotals& totals;  ///< of this run
  const BaselineRoutes& baseline;
};

[[nodiscard]] bool is_change(RouteColumn column) noexcept;
/// As it is shown; for a group's row only the sums.
[[nodiscard]] QString change_text(const RouteChange& change, RouteColumn column, bool group);
/// The same for a narrow cell; empty where it cannot be shorter.
[[nodiscard]] QString brief_text(const RouteChange& change, RouteColumn column);
/// Plain numbers, for sorting and for CSV; invalid where there is none.
[[nodiscard]] QVariant change_value(const RouteChange& change, RouteColumn column);
/// -1 better, 1 worse, 0 neither or not to be judged.
[[nodiscard]] int change_tone(const RouteChange& change, RouteColumn column);
/// A sentence about where the calls were served before.
[[nodiscard]] QString change_tip(const RouteChange& change);

/// All of a run against the baseline, in numbers.
struct RunAgainst {
  std::int64_t moved = 0;  ///< calls
  std::int64_t fresh = 0;  ///< calls of kinds that the baseline has not
  std::int64_t gone = 0;   ///< calls of the baseline, of kinds that this run has not
  CallTime then;
  CallTime now;

  RunAgainst() = default;
  RunAgainst(const RouteMatch& match, const CallIndex& baseline, const CallIndex& run);
  /// "57 calls moved", "−1.2 s (−12 %)".
  [[nodiscard]] QString sentence() const;
};

}  // namespace attn::ui
