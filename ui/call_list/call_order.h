// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/call_list/call_columns.h"
#include "ui/filter/filter.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace attn::ui {

/// Which calls are listed, and in which order.
struct CallQuery {
  Filter filter;
  std::optional<CallColumn> column;  ///< nullopt: as they were made
  bool descending = false;
  std::shared_ptr<const CallChanges> changes;  ///< for the columns of a comparison

  /// Every call, as they were made.
  [[nodiscard]] bool is_plain() const noexcept { return filter.is_empty() && !column; }
};

/// Asks a filter about calls: once for each kind where that is enough.
class CallFilter {
 public:
  explicit CallFilter(Filter filter) : filter_(std::move(filter)) {}

  [[nodiscard]] bool accepts(const trace::CallView& calls, const trace::CallRecord& call);

 private:
  struct Kind {
    std::optional<bool> decided;
    FilterRow row;
  };
  Filter filter_;
  std::vector<Kind> kinds_;
};

/// Numbers of the calls that a query lists, in its order; equal ones as they were made. Any thread. Looks at `stop`
/// now and then and returns early, with part of the answer, when it is set.
[[nodiscard]] std::vector<std::uint32_t> ordered_calls(const trace::CallView& calls, const CallQuery& query,
                                                       const std::atomic<bool>& stop);

/// The next row, in `order` or as they were made, from `row` on whose call a filter matches, round the end; and how
/// many match in all, and which of them it is.
struct FoundCall {
  std::size_t row = 0;
  std::size_t place = 0;
  std::size_t count = 0;
};
[[nodiscard]] std::optional<FoundCall> find_call(const trace::CallView& calls, const std::vector<std::uint32_t>* order,
                                                 const Filter& filter, std::ptrdiff_t row, bool backwards,
                                                 const std::atomic<bool>& stop);

}  // namespace attn::ui
