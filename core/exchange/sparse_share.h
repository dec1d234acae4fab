// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// How a system says how much of the keys a sparse attention keeps. Here it is always the share kept, in percent.
struct ShareUnit {
  std::string_view system;
  std::string_view key;
  bool kept = true;       ///< false: the number is the share that is dropped
  double whole = 1.0;     ///< what all of it is: 1 for a fraction, 100 for percent
  bool list = false;      ///< one number for each layer, or one for all
  bool has_share = true;  ///< false: it chooses by something that is no share
};

/// Every system that is known.
[[nodiscard]] std::span<const ShareUnit> share_units() noexcept;
[[nodiscard]] const ShareUnit* find_share_unit(std::string_view system) noexcept;

/// Below this many percent kept, people got broken videos.
inline constexpr double kLeastKeptPercent = 20.0;

/// Percent kept -> the system's text: 30 -> "0.30", "30.0", "0.70", "[0.30]". Error: it has no share.
[[nodiscard]] Expected<std::string> share_text(const ShareUnit& unit, double kept_percent);

/// A system's number as percent kept, and what to say about it.
struct KeptShare {
  double percent = 100.0;
  std::string warning;  ///< empty: nothing
};
/// Error: no number, one out of range, or a list whose numbers differ.
[[nodiscard]] Expected<KeptShare> read_share(const ShareUnit& unit, std::string_view text);

/// Dense steps at both ends as a window of a generation's progress: 2 of 20 -> 0.1 to 0.9.
struct Window {
  double begin = 0.0;
  double end = 1.0;
};
[[nodiscard]] Window window_of(std::int64_t dense_steps, std::int64_t steps) noexcept;
/// Steps of `window` that are dense at either end, the larger of both; `uneven` tells that they differ.
[[nodiscard]] std::int64_t dense_steps_of(const Window& window, std::int64_t steps, bool& uneven) noexcept;

}  // namespace attn
