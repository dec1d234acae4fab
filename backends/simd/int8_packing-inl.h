// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: fp32 rows to INT8 with shared factors, and INT8 rows into panels.
#if defined(ATTN_INT8_PACKING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_INT8_PACKING_INL_H
#undef ATTN_INT8_PACKING_INL_H
#else
#define ATTN_INT8_PACKING_INL_H
#endif

#include "backends/simd/tile_products-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The largest magnitude of a row.
HWY_INLINE float LargestOf(const float* row, std::int64_t count) {
  const DF d;
  VF top = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) top = hn::Max(top, hn::Abs(hn::LoadU(d, row + i)));
  float largest = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < count; ++i) largest = std::max(largest, std::fabs(row[i]));
  return largest;
}

/// Whole numbers of row / factor. A factor of 0 gives zeros.
HWY_INLINE void RowToBytes(const float* row, std::int64_t count, float factor, bool half_away, std::int8_t* out) {
  const DF d;
  const hn::Rebind<std::int8_t, DF> d8;
  const VF divisor = hn::Set(d, factor == 0.0F ? 1.0F : factor);
  const VF half = hn::Set(d, 0.5F);
  const VF low = hn::Set(d, -128.0F);
  const VF high = hn::Set(d, 127.0F);
  HWY_ALIGN float rest[HWY_LANES(float)];
  HWY_ALIGN std::int8_t numbers[HWY_LANES(float)];
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t here = std::min(kLanes, count - i);
    const float* from = row + i;
    if (here < kLanes) {
      std::fill_n(rest, kLanes, 0.0F);
      std::memcpy(rest, from, static_cast<std::size_t>(here) * sizeof(float));
      from = rest;
    }
    const VF quotient = hn::Div(hn::LoadU(d, from), divisor);
    const VF whole = half_away ? hn::Trunc(hn::Add(quotient, hn::CopySign(half, quotient))) : hn::Round(quotient);
    const VF bounded = hn::Min(hn::Max(whole, low), high);
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(DI(), bounded)), d8, numbers);
    std::memcpy(out + i, numbers, static_cast<std::size_t>(here));
  }
  if (factor == 0.0F) std::memset(out, 0, static_cast<std::size_t>(count));
}

/// Four rows of bytes into words: out[channel] holds the four rows' bytes of that channel, `width` channels, zeros from
/// `count` on.
HWY_INLINE void InterleaveRows(const std::int8_t* rows, std::int64_t step, std::int64_t count, std::int64_t width,
                               std::int8_t* HWY_RESTRICT out) {
  std::int64_t at = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<std::int8_t, 16> d8;
  const hn::RepartitionToWide<decltype(d8)> d16;
  for (; at + 16 <= count; at += 16) {
    const auto a = hn::LoadU(d8, rows + at);
    const auto b = hn::LoadU(d8, rows + step + at);
    const auto c = hn::LoadU(d8, rows + 2 * step + at);
    const auto e = hn::LoadU(d8, rows + 3 * step + at);
    const auto ab_low = hn::BitCast(d16, hn::InterleaveLower(d8, a, b));
    const auto ab_high = hn::BitCast(d16, hn::InterleaveUpper(d8, a, b));
    const auto ce_low = hn::BitCast(d16, hn::InterleaveLower(d8, c, e));
    const auto ce_high = hn::BitCast(d16, hn::InterleaveUpper(d8, c, e));
    std::int8_t* to = out + 4 * at;
    hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, ab_low, ce_low)), d8, to);
    hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, ab_low, ce_low)), d8, to + 16);
    hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, ab_high, ce_high)), d8, to + 32);
    hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, ab_high, ce_high)), d8, to + 48);
  }
#endif
  for (; at < count; ++at) {
    for (std::int64_t t = 0; t < 4; ++t) out[4 * at + t] = rows[t * step + at];
  }
  std::memset(out + 4 * count, 0, static_cast<std::size_t>(4 * (width - count)));
}

/// Probabilities times the values' factors into 0..127 with one factor for the row; returns it. `count` is a multiple
/// of the vector.
HWY_INLINE float RowToProbabilities(const float* HWY_RESTRICT row, const float* HWY_RESTRICT factor, std::int64_t count,
                                    std::uint8_t* HWY_RESTRICT out) {
  const DF d;
  const hn::Rebind<std::uint8_t, DF> d8;
  VF top = hn::Zero(d);
  for (std::int64_t j = 0; j < count; j += kLanes) {
    top = hn::Max(top, hn::Mul(hn::LoadU(d, row + j), hn::LoadU(d, factor + j)));
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(d, top));
  const float scale = largest / 127.0F <= 2e-38F ? 1.0F : largest / 127.0F;
  const VF inverse = hn::Set(d, 1.0F / scale);
  const VF half = hn::Set(d, 0.5F);
  for (std::int64_t j = 0; j < count; j += kLanes) {
    const VF weighted = hn::Mul(hn::LoadU(d, row + j), hn::LoadU(d, factor + j));
    // Not negative, so that truncation is floor.
    const auto whole = hn::ConvertTo(DI(), hn::MulAdd(weighted, inverse, half));
    hn::StoreU(hn::DemoteTo(d8, whole), d8, out + j);
  }
  return scale;
}

/// Rounds a row of fp32 to binary16 or bfloat16 and back.
HWY_INLINE void RoundToHalf(float* row, std::int64_t count) {
  const DF d;
  const hn::Rebind<hwy::float16_t, DF> d16;
  HWY_ALIGN float rest[HWY_LANES(float)];
  for (std::int64_t j = 0; j < count; j += kLanes) {
    if (count - j >= kLanes) {
      hn::StoreU(hn::PromoteTo(d, hn::DemoteTo(d16, hn::LoadU(d, row + j))), d, row + j);
      continue;
    }
    std::fill_n(rest, kLanes, 0.0F);
    std::memcpy(rest, row + j, static_cast<std::size_t>(count - j) * sizeof(float));
    hn::Store(hn::PromoteTo(d, hn::DemoteTo(d16, hn::Load(d, rest))), d, rest);
    std::memcpy(row + j, rest, static_cast<std::size_t>(count - j) * sizeof(float));
  }
}

HWY_INLINE void RoundToBfloat(float* row, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    std::uint32_t bits;
    std::memcpy(&bits, row + j, sizeof(bits));
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
    bits = (bits & 0x7FFFFFFFU) > 0x7F800000U ? bits : rounded;
    std::memcpy(row + j, &bits, sizeof(bits));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
