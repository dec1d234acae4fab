// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"

#include <cstdint>
#include <vector>

namespace attn::app {

/// Rotary angles of the joint sequence, text first: (text + height * width, head_dim / 2) cosines, and sines.
///
/// Image tokens lie at cell centres, scaled so that the longer side spans rope_extent; text token k at (-k - 1, -k -
/// 1). The first half of the angles turns with y, the second with x; angle j of a half has the frequency rope_theta^(-j
/// / count).
struct RotaryTables {
  std::vector<float> cosine;
  std::vector<float> sine;
};
[[nodiscard]] RotaryTables rotary_tables(std::int64_t text, std::int64_t height, std::int64_t width,
                                         const ShapesConfig& config);

/// (height * width, 4 * frequencies): sin y, cos y, sin x, cos x of pi 2^k place; the longer side spans 0..1.
[[nodiscard]] std::vector<float> position_features(std::int64_t height, std::int64_t width, std::int64_t frequencies);

/// Cosines, then sines, of 1000 `time` at `count` / 2 frequencies that fall from 1 to 1 / 10000.
[[nodiscard]] std::vector<float> time_features(float time, std::int64_t count);

}  // namespace attn::app
