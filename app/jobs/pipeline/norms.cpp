// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/norms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace attn::app {
namespace {

/// Sums go into this many places in turn: a fixed order that is also the one of a vector register or a few.
constexpr std::int64_t kLanes = 16;

/// Sum of term(i) for 0 .. count - 1.
template <class Term>
float sum_of(std::int64_t count, Term term) noexcept {
  std::array<float, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[static_cast<std::size_t>(lane)] += term(i + lane);
  }
  for (; i < count; ++i) lanes[static_cast<std::size_t>(i % kLanes)] += term(i);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) {
      lanes[static_cast<std::size_t>(lane)] += lanes[static_cast<std::size_t>(lane + half)];
    }
  }
  return lanes[0];
}

/// 2^n by the exponent bits times a polynomial on half a unit about 0 (Taylor to x^7 in the natural exponent).
inline float exponential(float x) noexcept {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // its product with a whole number is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float shifted = x * kLog2E + kRound;
  const float whole = shifted - kRound;
  const float r = (x - whole * kLn2High) - whole * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound)) << 23U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
}

}  // namespace

void modulate_row(float* y, const float* shift, const float* scale, std::int64_t width) noexcept {
  for (std::int64_t i = 0; i < width; ++i) y[i] = y[i] * (1.0F + scale[i]) + shift[i];
}

void add_gated_row(float* x, const float* y, const float* gate, std::int64_t width) noexcept {
  for (std::int64_t i = 0; i < width; ++i) x[i] += gate[i] * y[i];
}

void rms_norm_head(float* x, std::span<const float> weight) noexcept {
  const auto width = static_cast<std::int64_t>(weight.size());
  const float mean = sum_of(width, [x](std::int64_t i) { return x[i] * x[i]; }) / static_cast<float>(width);
  const float factor = 1.0F / std::sqrt(mean + 1e-6F);
  for (std::size_t i = 0; i < weight.size(); ++i) x[i] = x[i] * factor * weight[i];
}

void rotate_head(float* x, const float* cosine, const float* sine, std::int64_t head_dim) noexcept {
  const std::int64_t half = head_dim / 2;
  for (std::int64_t j = 0; j < half; ++j) {
    const float first = x[j];
    const float second = x[j + half];
    x[j] = first * cosine[j] - second * sine[j];
    x[j + half] = second * cosine[j] + first * sine[j];
  }
}

void silu(float* x, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] / (1.0F + exponential(-x[i]));
}

}  // namespace attn::app
