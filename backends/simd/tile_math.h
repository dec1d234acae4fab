// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>

namespace attn {

/// The running state of one query row in an online softmax (Milakov and Gimelshein, arXiv 1805.02867).
struct RowState {
  float maximum;  ///< of the scores seen; minus infinity before the first allowed key
  float sum;      ///< of exp(score - maximum)
};

/// The loops that take the time, in one version per instruction set.
///
/// All matrices are row major with steps in elements. `columns` is a multiple of 16; memory may be unaligned.
struct TileMath {
  const char* name;  ///< "baseline", "avx2", "avx512"

  /// c (rows, columns) = a (rows, depth) * b (depth, columns), added to c when `accumulate`. fp32 throughout.
  /// Whole numbers stay exact while every sum is below 2^24, which makes it an int32 product for int8 operands
  /// up to a depth of 1040.
  void (*multiply)(const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* c,
                   std::int64_t c_step, std::int64_t rows, std::int64_t depth, std::int64_t columns, bool accumulate);
  /// scores[j] *= factor, or factor * per_key[j] where per_key is not null.
  void (*scale_row)(float* scores, std::int64_t count, float factor, const float* per_key);
  /// Turns scores into exp(score - maximum), moves the row's state on and returns the factor by which what was
  /// summed before must be multiplied. A row without any allowed key stays at minus infinity and gets zeros.
  float (*softmax_row)(float* scores, std::int64_t count, RowState* state);
  /// values[j] *= factor.
  void (*multiply_row)(float* values, std::int64_t count, float factor);
  /// Rounds to binary16 in place.
  void (*round_half_row)(float* values, std::int64_t count);
};

/// The versions that this processor runs, best first; the last is always the baseline. For tests and benchmarks.
[[nodiscard]] std::span<const TileMath* const> tile_math_versions() noexcept;

/// The best of them.
[[nodiscard]] const TileMath& tile_math() noexcept;

}  // namespace attn
