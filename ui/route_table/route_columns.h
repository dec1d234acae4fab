// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <QString>
#include <QVariant>
#include <cstdint>
#include <optional>

#include "ui/filter/filter_field.h"

namespace attn::ui {

/// Columns of the route table, in their first order.
struct RouteColumns {
  enum Column : std::uint8_t {
    executed,
    kernel,
    requested,
    selected,
    role,
    steps,
    query,
    key,
    value,
    dtype,
    mask,
    strides,
    calls,
    time,
    share,
    error,
    kept,
    finite,
    // Against a baseline; empty without one.
    backend_then,
    time_change,
    calls_change,
    share_change,
    kColumns
  };
};
using RouteColumn = RouteColumns::Column;
inline constexpr int kRouteColumnCount = RouteColumns::kColumns;

/// One row of the one list of columns.
struct RouteColumnSpec {
  const char* title;
  const char* tip;
  bool number;                       ///< right aligned, largest first
  bool shown;                        ///< until the person chooses
  int least;                         ///< pixels at 96 dpi
  std::optional<FilterField> field;  ///< what a filter calls it
};
[[nodiscard]] const RouteColumnSpec& spec_of(RouteColumn column) noexcept;

/// What a cell is made of besides the route.
struct RouteTotals {
  qint64 calls = 0;
  double seconds = 0.0;
  bool in_seconds = false;  ///< shares are of time; else of calls
};

/// Time of all calls of a route: measured where every call was computed, else scaled from those that were; 0 when
/// none was.
[[nodiscard]] double whole_seconds(const trace::RouteRow& row) noexcept;
[[nodiscard]] double share_of(const trace::RouteRow& row, const RouteTotals& totals) noexcept;

/// The kernel's own word, and what is kept where a selection was used; empty where it says no more than the backend.
[[nodiscard]] QString variant_text(const trace::RouteRow& row);
/// As it is shown.
[[nodiscard]] QString cell_text(const trace::RouteRow& row, RouteColumn column, const RouteTotals& totals);
/// Plain numbers in SI units and texts without signs: for sorting and for CSV.
[[nodiscard]] QVariant cell_value(const trace::RouteRow& row, RouteColumn column, const RouteTotals& totals);
/// The filter that a cell stands for, "backend=sdnq"; empty when there is none for it.
[[nodiscard]] QString cell_filter(const trace::RouteRow& row, RouteColumn column);

}  // namespace attn::ui
