// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/dtype.h"

#include <cstdint>
#include <vector>

namespace attn {

/// A narrow number format of a quantised product.
enum class NumberFormat : std::uint8_t { none, int8, e4m3, fp16 };

/// The largest magnitude of a format: 127, 448, 65504.
[[nodiscard]] float largest_of(NumberFormat format) noexcept;
/// Bytes of one number; 0 for none.
[[nodiscard]] std::int64_t bytes_of(NumberFormat format) noexcept;

/// Smoothing: subtracts each column's mean over all rows. The softmax is unchanged, because every score of a row
/// moves by the same amount. Results are rounded to `dtype`.
void subtract_mean(float* rows, std::int64_t count, std::int64_t width, DType dtype);

/// Symmetric quantisation with one factor per row: value / (max|row| / largest). A row of zeros stays zero and has
/// the factor 0. Factor and quotient are rounded to `dtype` first, as when they are computed in it.
void quantise_rows(NumberFormat format, float* rows, std::int64_t count, std::int64_t width, DType dtype,
                   std::vector<float>& factor);

/// Multiplies each group of `group` channels of a row by an orthonormal, symmetric +-1/sqrt(group) matrix: Kronecker
/// powers of the matrix of order 4 with one -1 per row where the group is a power of 4, else of the one of order 2. It
/// is its own inverse. `group` is a power of two that divides `width`; below 4 nothing is done.
void hadamard(float* row, std::int64_t width, std::int64_t group) noexcept;

/// The group that a setting gives for a width: rounded up to a power of two, at most the padded width; 0 for none.
[[nodiscard]] std::int64_t hadamard_group(std::int64_t setting, std::int64_t padded_width) noexcept;

}  // namespace attn
