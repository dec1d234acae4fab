// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/event/route_event.h"

#include <cstdint>

namespace attn::trace {

/// Elements of a tensor that are no finite numbers.
struct NonFinite {
  std::int64_t nan = 0;
  std::int64_t inf = 0;
  friend bool operator==(const NonFinite&, const NonFinite&) = default;
};

/// Counts them in a view of any strides; nothing in a view without data or of a type that has none. One pass over the
/// data, no allocation. Any thread that may read the data.
[[nodiscard]] NonFinite count_non_finite(const TensorView& view) noexcept;

/// What a mask (..., Sq, Sk) says. It reads the mask once at most and stops where the answer is known; a mask without
/// data is `key_padding` when it has one row for all queries, else `unknown`. All true comes before the others.
[[nodiscard]] MaskPattern mask_pattern_of(const TensorView& mask) noexcept;

/// Puts what only the data tell into an event: the mask's pattern, and the output's NaN and Inf when it was computed.
void look_at_data(const RouteRecord& record, RouteEvent& event) noexcept;

}  // namespace attn::trace
