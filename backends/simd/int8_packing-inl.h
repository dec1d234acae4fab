// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: fp32 rows to INT8 with shared factors, and INT8 rows into panels.
#if defined(ATTN_INT8_PACKING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_INT8_PACKING_INL_H
#undef ATTN_INT8_PACKING_INL_H
#else
#define ATTN_INT8_PACKING_INL_H
#endif

#include "backends/simd/tile_packing-inl.h"
#include "backends/simd/tile_products-inl.h"
#include "backends/simd/vector_exp-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whole numbers that fit, as bytes. Highway's own way minds overflow, which cannot happen here, in six operations.
template <class D8>
HWY_INLINE hn::Vec<D8> WholeToBytes(D8 d8, VF whole) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  (void)d8;
  return hn::Vec<D8>{_mm512_cvtepi32_epi8(_mm512_cvttps_epi32(whole.raw))};
#else
  return hn::DemoteTo(d8, hn::ConvertTo(DI(), whole));
#endif
}

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

/// to = from - mean, or from where there is no mean; returns the largest magnitude. `from` may be `to`.
HWY_INLINE float CentreRow(const float* from, const float* HWY_RESTRICT mean, std::int64_t count, float* to) {
  const DF d;
  VF top = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF value = hn::LoadU(d, from + i);
    const VF centred = mean == nullptr ? value : hn::Sub(value, hn::LoadU(d, mean + i));
    top = hn::Max(top, hn::Abs(centred));
    hn::StoreU(centred, d, to + i);
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < count; ++i) {
    to[i] = from[i] - (mean == nullptr ? 0.0F : mean[i]);
    largest = std::max(largest, std::fabs(to[i]));
  }
  return largest;
}

/// Whole numbers of value / factor, within the range of INT8, as floats. The product with the reciprocal differs from
/// the quotient only where that falls on a half, by its last bit.
HWY_INLINE VF ToWhole(VF value, VF inverse, bool half_away) {
  const DF d;
  const VF quotient = hn::Mul(value, inverse);
  const VF whole =
      half_away ? hn::Trunc(hn::Add(quotient, hn::CopySign(hn::Set(d, 0.5F), quotient))) : hn::Round(quotient);
  return hn::Min(hn::Max(whole, hn::Set(d, -128.0F)), hn::Set(d, 127.0F));
}

/// Numbers of row / factor; returns their sum. A factor of 0 gives zeros.
HWY_INLINE std::int32_t RowToBytes(const float* row, std::int64_t count, float factor, bool half_away,
                                   std::int8_t* out) {
  if (factor == 0.0F) {
    std::memset(out, 0, static_cast<std::size_t>(count));
    return 0;
  }
  const DF d;
  const hn::Rebind<std::int8_t, DF> d8;
  const VF inverse = hn::Set(d, 1.0F / factor);
  VF sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF whole = ToWhole(hn::LoadU(d, row + i), inverse, half_away);
    sum = hn::Add(sum, whole);
    hn::StoreU(WholeToBytes(d8, whole), d8, out + i);
  }
  if (i < count) {
    HWY_ALIGN float rest[HWY_LANES(float)] = {};
    HWY_ALIGN std::int8_t numbers[HWY_LANES(float)];
    std::memcpy(rest, row + i, static_cast<std::size_t>(count - i) * sizeof(float));
    const VF whole = ToWhole(hn::Load(d, rest), inverse, half_away);
    sum = hn::Add(sum, whole);
    hn::StoreU(WholeToBytes(d8, whole), d8, numbers);
    std::memcpy(out + i, numbers, static_cast<std::size_t>(count - i));
  }
  return static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d, sum)));
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

/// One run of an online softmax straight into bytes: 2^(score - shift) is added to `sum`, multiplied by the values'
/// factors and brought into 0..127 with one factor, which is returned. At most 64 columns, whole vectors.
HWY_INLINE float RunToBytes(const float* HWY_RESTRICT scores, const float* HWY_RESTRICT factor, std::int64_t count,
                            VF shift, VF* sum, std::uint8_t* HWY_RESTRICT out) {
  const DF d;
  const hn::Rebind<std::uint8_t, DF> d8;
  constexpr std::int64_t kMost = 64 / kLanes;
  VF weighted[kMost];
  VF top = hn::Zero(d);
  const std::int64_t vectors = count / kLanes;
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < kMost; ++v) {
    if (v >= vectors) break;
    const VF p = Exp2(d, hn::Sub(hn::LoadU(d, scores + v * kLanes), shift));
    *sum = hn::Add(*sum, p);
    weighted[v] = hn::Mul(p, hn::LoadU(d, factor + v * kLanes));
    top = hn::Max(top, weighted[v]);
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(d, top));
  const float wanted = largest * (1.0F / 127.0F);
  const float scale = wanted <= 2e-38F ? 1.0F : wanted;
  const VF inverse = hn::Set(d, 1.0F / scale);
  const VF half = hn::Set(d, 0.5F);
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < kMost; ++v) {
    if (v >= vectors) break;
    // Not negative, so that truncation is floor.
    hn::StoreU(WholeToBytes(d8, hn::MulAdd(weighted[v], inverse, half)), d8, out + v * kLanes);
  }
  return scale;
}

/// Rounds a row of fp32 to binary16 or bfloat16 and back.
template <class Half>
HWY_INLINE void RoundRow(float* row, std::int64_t count) {
  const DF d;
  HWY_ALIGN Half narrow[HWY_LANES(float)];
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Narrow(hn::LoadU(d, row + j), narrow);
    hn::StoreU(Widen(narrow), d, row + j);
  }
  if (j == count) return;
  HWY_ALIGN float rest[HWY_LANES(float)] = {};
  std::memcpy(rest, row + j, static_cast<std::size_t>(count - j) * sizeof(float));
  Narrow(hn::Load(d, rest), narrow);
  hn::Store(Widen(narrow), d, rest);
  std::memcpy(row + j, rest, static_cast<std::size_t>(count - j) * sizeof(float));
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
