// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>

namespace attn::app {

// What oneDNN 2.6 has no primitive for, in loops that the compiler turns into vector code. Every sum has an order of
// its own that does not depend on the threads.

/// y (1 + scale) + shift over one row: the second half of an adaptive norm.
void modulate_row(float* y, const float* shift, const float* scale, std::int64_t width) noexcept;

/// x += gate * y, elementwise.
void add_gated_row(float* x, const float* y, const float* gate, std::int64_t width) noexcept;

/// x / sqrt(mean(x^2) + 1e-6) * weight over one head, in place.
void rms_norm_head(float* x, std::span<const float> weight) noexcept;

/// Turns one head in place: element j pairs with j + head_dim / 2; `cosine` and `sine` hold head_dim / 2 numbers.
void rotate_head(float* x, const float* cosine, const float* sine, std::int64_t head_dim) noexcept;

/// x / (1 + exp(-x)) in place; exp is right to 2 units in the last place.
void silu(float* x, std::int64_t count) noexcept;

}  // namespace attn::app
