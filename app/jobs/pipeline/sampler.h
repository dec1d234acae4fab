// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"
#include "app/jobs/pipeline/layers.h"

#include <cstdint>
#include <vector>

namespace attn::app {

// Rectified flow: x_t = (1 - t) clean + t noise, and the denoiser's velocity is noise - clean.

/// `steps` + 1 times from `start` down to 0, evenly spaced before they are shifted towards 1 for larger pictures:
/// t = s u / (1 + (s - 1) u), s = shift_base sqrt(image tokens / shift_tokens). `start` is a shifted time.
[[nodiscard]] std::vector<float> shifted_times(std::int64_t steps, std::int64_t image_tokens, double start,
                                               const ShapesConfig& config);

/// Standard normal noise (height, width, channels): number (channel, y, x) of stream (seed, stream), whatever else is
/// drawn.
[[nodiscard]] FeatureMap noise_of(std::uint64_t seed, std::uint64_t stream, std::int64_t height, std::int64_t width,
                                  std::int64_t channels);

/// (1 - time) clean + time noise.
[[nodiscard]] FeatureMap mixed(const FeatureMap& clean, const FeatureMap& noise, float time);

/// latent += change (free + guidance (told - free)), the Euler step. Writes the guided velocity into `told`.
void euler_step(FeatureMap& latent, float change, std::vector<float>& told, const float* free, double guidance);

}  // namespace attn::app
