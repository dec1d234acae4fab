// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace attn {

/// Values of narrow formats, kept in a float: each function returns the float that the narrow format would hold.
/// All round to nearest even and are free of branches, so that a loop over them vectorises.

/// IEEE binary16; beyond 65504 gives infinity, as a conversion on an accelerator does.
[[nodiscard]] inline float round_to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) & ~0x1FFFU;
  // Below 2^-14 the format's step is 2^-24, which is the step of a float between 0.5 and 1.
  const auto denormal = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5F) - 0.5F);
  const std::uint32_t finite = magnitude < 0x38800000U ? denormal : normal;
  const std::uint32_t bounded = finite >= 0x47800000U ? 0x7F800000U : finite;
  return std::bit_cast<float>(sign | (magnitude > 0x7F800000U ? magnitude : bounded));
}

/// bfloat16.
[[nodiscard]] inline float round_to_bfloat(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
  return std::bit_cast<float>((bits & 0x7FFFFFFFU) > 0x7F800000U ? bits : rounded);
}

/// float8 e4m3fn (OCP OFP8): three fraction bits, least step 2^-9, saturating at 448; NaN becomes 0.
[[nodiscard]] inline float round_to_e4m3(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (magnitude + 0x7FFFFU + ((magnitude >> 20) & 1U)) & ~0xFFFFFU;
  const auto denormal = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 16384.0F) - 16384.0F);
  const std::uint32_t finite = magnitude < 0x3C800000U ? denormal : normal;
  const std::uint32_t bounded = finite > 0x43E00000U ? 0x43E00000U : finite;
  return std::bit_cast<float>(magnitude > 0x7F800000U ? 0U : sign | bounded);
}

/// The nearest whole number, halves to even. For magnitudes below 2^22.
[[nodiscard]] inline float round_half_even(float value) noexcept { return (value + 12582912.0F) - 12582912.0F; }

/// The nearest whole number, halves away from zero.
[[nodiscard]] inline float round_half_away(float value) noexcept {
  return std::trunc(value + std::copysign(0.5F, value));
}

/// Rounds to what `dtype` holds; float32 and anything else that holds a float stays.
[[nodiscard]] inline float round_to(DType dtype, float value) noexcept {
  if (dtype == DType::float16) return round_to_half(value);
  if (dtype == DType::bfloat16) return round_to_bfloat(value);
  return value;
}

}  // namespace attn
