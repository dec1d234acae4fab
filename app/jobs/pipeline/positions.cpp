// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/positions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn::app {

RotaryTables rotary_tables(std::int64_t text, std::int64_t height, std::int64_t width, const ShapesConfig& config) {
  const std::int64_t count = config.head_dim() / 4;
  const auto scale = static_cast<float>(config.rope_extent / static_cast<double>(std::max(height, width)));
  std::vector<float> frequency;
  for (std::int64_t j = 0; j < count; ++j) {
    frequency.push_back(
        std::pow(static_cast<float>(config.rope_theta), -static_cast<float>(j) / static_cast<float>(count)));
  }
  RotaryTables tables;
  const auto add = [&](float place) {
    for (const float f : frequency) {
      tables.cosine.push_back(std::cos(place * f));
      tables.sine.push_back(std::sin(place * f));
    }
  };
  for (std::int64_t k = 0; k < text; ++k) {
    add(-static_cast<float>(k + 1));
    add(-static_cast<float>(k + 1));
  }
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      add((static_cast<float>(y) + 0.5F) * scale);
      add((static_cast<float>(x) + 0.5F) * scale);
    }
  }
  return tables;
}

std::vector<float> position_features(std::int64_t height, std::int64_t width, std::int64_t frequencies) {
  const auto longest = static_cast<float>(std::max(height, width));
  std::vector<float> features;
  const auto add = [&](std::int64_t place) {
    const float at = (static_cast<float>(place) + 0.5F) / longest;
    for (const bool cosine : {false, true}) {
      for (std::int64_t k = 0; k < frequencies; ++k) {
        const float angle = at * (std::numbers::pi_v<float> * std::exp2(static_cast<float>(k)));
        features.push_back(cosine ? std::cos(angle) : std::sin(angle));
      }
    }
  };
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      add(y);
      add(x);
    }
  }
  return features;
}

std::vector<float> time_features(float time, std::int64_t count) {
  const std::int64_t half = count / 2;
  std::vector<float> features(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < half; ++i) {
    const float frequency = std::exp(-std::log(10000.0F) * static_cast<float>(i) / static_cast<float>(half));
    const float angle = 1000.0F * time * frequency;
    features[static_cast<std::size_t>(i)] = std::cos(angle);
    features[static_cast<std::size_t>(half + i)] = std::sin(angle);
  }
  return features;
}

}  // namespace attn::app
