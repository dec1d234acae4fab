// SPDX-License-Identifier: GPL-3.0-or-later
// INT8 numbers and their factors, as Int8Options describes them.
#pragma once

#include "backends/cuda/arithmetic/numbers.h"
#include "backends/cuda/kernels/tasks.h"

namespace attn::cuda {

/// What shares a factor with a token, by its place in a block (SageAttention2, arXiv 2411.10958, section 3).
[[nodiscard]] ATTN_HD int factor_group(FactorGroup group, bool keys, int warp_rows, int place) noexcept {
  switch (group) {
    case FactorGroup::token:
      return place;
    case FactorGroup::block:
      return 0;
    case FactorGroup::warp:
      return keys ? 0 : place / warp_rows;
    case FactorGroup::thread:
      break;
  }
  return keys ? place % 8 / 2 : place / warp_rows * 8 + place % 8;
}

/// The factor of a group whose largest magnitude is `largest`: number times factor is the value.
[[nodiscard]] ATTN_HD float factor_of(float largest, float least_largest, float added) noexcept {
  return sum(quotient(larger(largest, least_largest), 127.0F), added);
}

/// The number of a value, within -128..127; `inverse` is 1 / factor, or 0 where the factor is 0.
[[nodiscard]] ATTN_HD int number_of(float value, float inverse, bool half_away) noexcept {
  const float wanted = product(value, inverse);
  // Adding 1.5 * 2^23 leaves the nearest whole number in the last bits, halves to even.
  const float even = sum(sum(wanted, 12582912.0F), -12582912.0F);
  const float away = ::truncf(sum(wanted, ::copysignf(0.5F, wanted)));
  const float whole = half_away ? away : even;
  return static_cast<int>(whole < -128.0F ? -128.0F : whole > 127.0F ? 127.0F : whole);
}

/// Four numbers as the bytes of a word, the first lowest.
[[nodiscard]] ATTN_HD std::uint32_t pack_numbers(int a, int b, int c, int d) noexcept {
  return (static_cast<std::uint32_t>(a) & 0xFFU) | (static_cast<std::uint32_t>(b) & 0xFFU) << 8 |
         (static_cast<std::uint32_t>(c) & 0xFFU) << 16 | static_cast<std::uint32_t>(d) << 24;
}

/// Sums of products of numbers start from here, so that their bits read as a float are 12582912 + sum: exact while
/// the sum stays below 2^22, which 256 products of 127 * 127 do. Spares the conversion, the slower operation.
inline constexpr std::int32_t kSumStart = 0x4B400000;
[[nodiscard]] ATTN_HD float sum_as_float(std::int32_t bits) noexcept { return sum(bits_as<float>(bits), -12582912.0F); }

/// A query row's factor is kept above this, so that a hidden score of minus infinity times it stays what it is.
inline constexpr float kLeastRowFactor = 1e-30F;

}  // namespace attn::cuda
