// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn::app {
namespace {

/// Four neighbouring cells and what each counts.
struct Taps {
  std::array<std::int64_t, 4> at{};
  std::array<float, 4> weight{};
};

std::array<float, 4> bilinear(float t) { return {0.0F, 1.0F - t, t, 0.0F}; }

std::array<float, 4> catmull_rom(float t) {
  const float t2 = t * t;
  const float t3 = t2 * t;
  return {0.5F * (-t3 + 2.0F * t2 - t), 0.5F * (3.0F * t3 - 5.0F * t2 + 2.0F), 0.5F * (-3.0F * t3 + 4.0F * t2 + t),
          0.5F * (t3 - t2)};
}

template <class Weights>
std::vector<Taps> taps_of(std::int64_t from, std::int64_t to, Weights weights) {
  std::vector<Taps> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + 0.5F) * static_cast<float>(from) / static_cast<float>(to) - 0.5F;
    const float floor = std::floor(place);
    Taps& one = taps[static_cast<std::size_t>(i)];
    one.weight = weights(place - floor);
    for (std::int64_t k = 0; k < 4; ++k) {
      one.at[static_cast<std::size_t>(k)] =
          std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) - 1 + k, 0, from - 1);
    }
  }
  return taps;
}

template <class Weights>
FeatureMap resized(const FeatureMap& map, std::int64_t height, std::int64_t width, Weights weights) {
  const std::int64_t channels = map.channels();
  const std::vector<Taps> columns = taps_of(map.width(), width, weights);
  const std::vector<Taps> rows = taps_of(map.height(), height, weights);
  FeatureMap wide(map.height(), width, channels);
  for (std::int64_t y = 0; y < map.height(); ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const Taps& taps = columns[static_cast<std::size_t>(x)];
      for (std::size_t k = 0; k < 4; ++k) {
        const float* cell = map.row(y) + taps.at[k] * channels;
        for (std::int64_t c = 0; c < channels; ++c) wide.row(y)[x * channels + c] += taps.weight[k] * cell[c];
      }
    }
  }
  FeatureMap result(height, width, channels);
  for (std::int64_t y = 0; y < height; ++y) {
    const Taps& taps = rows[static_cast<std::size_t>(y)];
    for (std::size_t k = 0; k < 4; ++k) {
      const float* from = wide.row(taps.at[k]);
      for (std::int64_t i = 0; i < width * channels; ++i) result.row(y)[i] += taps.weight[k] * from[i];
    }
  }
  return result;
}

}  // namespace

Picture to_picture(const FeatureMap& decoded) {
  Picture picture{decoded.width(), decoded.height(), {}};
  picture.rgb.resize(static_cast<std::size_t>(decoded.cells() * decoded.channels()));
  std::transform(decoded.row(0), decoded.row(decoded.height()), picture.rgb.begin(), [](float value) {
    const float level = value * 0.5F + 0.5F;
    return static_cast<std::uint8_t>(level > 0.0F ? std::lround(std::min(level, 1.0F) * 255.0F) : 0);  // NaN: black
  });
  return picture;
}

FeatureMap resized_bilinear(const FeatureMap& map, std::int64_t height, std::int64_t width) {
  return resized(map, height, width, bilinear);
}

FeatureMap resized_bicubic(const FeatureMap& map, std::int64_t height, std::int64_t width) {
  return resized(map, height, width, catmull_rom);
}

}  // namespace attn::app
