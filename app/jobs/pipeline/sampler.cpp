// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/sampler.h"

#include "app/jobs/tensors/generated.h"

#include <cmath>

namespace attn::app {

std::vector<float> shifted_times(std::int64_t steps, std::int64_t image_tokens, double start,
                                 const ShapesConfig& config) {
  const double shift =
      config.shift_base * std::sqrt(static_cast<double>(image_tokens) / static_cast<double>(config.shift_tokens));
  const double first = start / (shift - (shift - 1.0) * start);
  std::vector<float> times;
  for (std::int64_t i = 0; i <= steps; ++i) {
    const double even = first * (1.0 - static_cast<double>(i) / static_cast<double>(steps));
    times.push_back(static_cast<float>(shift * even / (1.0 + (shift - 1.0) * even)));
  }
  return times;
}

FeatureMap noise_of(std::uint64_t seed, std::uint64_t stream, std::int64_t height, std::int64_t width,
                    std::int64_t channels) {
  FeatureMap noise(height, width, channels);
  for (std::int64_t cell = 0; cell < noise.cells(); ++cell) {
    for (std::int64_t c = 0; c < channels; ++c) {
      noise.row(0)[cell * channels + c] = normal_at(seed, stream, static_cast<std::uint64_t>(c * noise.cells() + cell));
    }
  }
  return noise;
}

FeatureMap mixed(const FeatureMap& clean, const FeatureMap& noise, float time) {
  FeatureMap both(clean.height(), clean.width(), clean.channels());
  for (std::int64_t i = 0; i < clean.cells() * clean.channels(); ++i) {
    both.row(0)[i] = (1.0F - time) * clean.row(0)[i] + time * noise.row(0)[i];
  }
  return both;
}

void euler_step(FeatureMap& latent, float change, std::vector<float>& told, const float* free, double guidance) {
  const auto strength = static_cast<float>(guidance);
  float* x = latent.row(0);
  for (std::int64_t i = 0; i < latent.cells() * latent.channels(); ++i) {
    float& velocity = told[static_cast<std::size_t>(i)];
    if (free != nullptr) velocity = free[i] + strength * (velocity - free[i]);
    x[i] += change * velocity;
  }
}

}  // namespace attn::app
