// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/layers.h"

#include <cstdint>
#include <vector>

namespace attn::app {

/// Eight bits a channel, rows from the top, (height, width, 3).
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;

  friend bool operator==(const Picture&, const Picture&) = default;
};

/// A decoded picture, about -1..1, clamped and rounded to eight bits.
[[nodiscard]] Picture to_picture(const FeatureMap& decoded);

/// The map at another size, channel by channel, with cell centres in line. Both interpolate between centres; beyond
/// the border the border's cells hold on.
[[nodiscard]] FeatureMap resized_bilinear(const FeatureMap& map, std::int64_t height, std::int64_t width);
/// Catmull-Rom splines (R. Keys, 1981, a = -0.5).
[[nodiscard]] FeatureMap resized_bicubic(const FeatureMap& map, std::int64_t height, std::int64_t width);

}  // namespace attn::app
