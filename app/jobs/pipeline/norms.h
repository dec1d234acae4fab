// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/layers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn::app {

// What oneDNN 2.6 has no primitive for, in loops that the compiler turns into vector code. Every sum has an order of
// its own that does not depend on the threads.

/// y = (x - mean) / sqrt(variance + epsilon) over one row of `width` numbers. x and y may be the same.
void normalise_row(const float* x, float* y, std::int64_t width, float epsilon) noexcept;

/// Layer norm with learned weight and bias.
void layer_norm_row(const float* x, float* y, std::span<const float> weight, std::span<const float> bias,
                    float epsilon) noexcept;

/// Adaptive norm: normalise_row with epsilon 1e-6, then y (1 + scale) + shift.
void modulated_row(const float* x, float* y, const float* shift, const float* scale, std::int64_t width) noexcept;

/// x += gate * y, elementwise.
void add_gated_row(float* x, const float* y, const float* gate, std::int64_t width) noexcept;

/// x / sqrt(mean(x^2) + 1e-6) * weight over one head, in place.
void rms_norm_head(float* x, std::span<const float> weight) noexcept;

/// Turns one head in place: element j pairs with j + head_dim / 2; `cosine` and `sine` hold head_dim / 2 numbers.
void rotate_head(float* x, const float* cosine, const float* sine, std::int64_t head_dim) noexcept;

/// x / (1 + exp(-x)) in place; exp is right to 2 units in the last place.
void silu(float* x, std::int64_t count) noexcept;

/// Group norm with learned weight and bias per channel, epsilon 1e-5.
class GroupNorm {
 public:
  GroupNorm(std::span<const float> weight, std::span<const float> bias, std::int64_t groups);

  enum class Then : std::uint8_t { nothing, silu };
  [[nodiscard]] FeatureMap run(const FeatureMap& x, Then then, Role role, Workers& workers) const;

 private:
  /// Per channel: what the input is multiplied by, then what is added.
  [[nodiscard]] std::vector<float> scale_and_shift(const FeatureMap& x, Role role, Workers& workers) const;

  std::vector<float> weight_;
  std::vector<float> bias_;
  std::int64_t groups_;
};

}  // namespace attn::app
