// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: scores from pairs of bfloat16, whose products are exact in fp32.
#if defined(ATTN_PAIR_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_PAIR_PRODUCTS_INL_H
#undef ATTN_PAIR_PRODUCTS_INL_H
#else
#define ATTN_PAIR_PRODUCTS_INL_H
#endif

#include "backends/simd/tile_products-inl.h"

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether this set of instructions has the pair product; the processor may lack it all the same.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr bool kHasPairs = true;
#else
inline constexpr bool kHasPairs = false;
#endif

/// Two bfloat16 in a word, the first in its low half. Both halves as fp32, in as many operations.
HWY_INLINE VF FirstOfPair(VI words) { return hn::BitCast(DF(), hn::ShiftLeft<16>(words)); }
HWY_INLINE VF SecondOfPair(VI words) {
  return hn::BitCast(DF(), hn::And(words, hn::Set(DI(), static_cast<std::int32_t>(0xFFFF0000U))));
}

/// Way of the processor: one instruction, which takes denormal numbers as zero.
struct PairInstruction {
  static HWY_INLINE VF Add(VF sum, VI a, VI b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    // Highway of Debian 12 does not have this operation.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
#else
    return hn::MulAdd(FirstOfPair(a), FirstOfPair(b), hn::MulAdd(SecondOfPair(a), SecondOfPair(b), sum));
#endif
  }
};

/// Way of every processor.
struct PairWidened {
  static HWY_INLINE VF Add(VF sum, VI a, VI b) {
    return hn::MulAdd(FirstOfPair(a), FirstOfPair(b), hn::MulAdd(SecondOfPair(a), SecondOfPair(b), sum));
  }
};

/// scores[r][...] = factor * queries[r] . keys for one panel, then `bias(row, vector, score)`; rows and panel in words
/// of two bfloat16.
template <class Pairs, int kRows, int kVectors, class Bias>
HWY_NOINLINE void ScorePairRows(const std::int32_t* HWY_RESTRICT queries, std::int64_t query_step,
                                const std::int32_t* HWY_RESTRICT panel, std::int64_t words, float factor,
                                float* HWY_RESTRICT scores, std::int64_t score_step, Bias bias) {
  const DF d;
  const DI di;
  VF acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int r = 0; r < kRows; ++r) bias.template Ask<kVectors>(r);
  for (std::int64_t k = 0; k < words; ++k) {
    VI operand[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) operand[v] = hn::Load(di, panel + v * kLanes);
    panel += kVectors * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const VI row = hn::Set(di, queries[r * query_step + k]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Pairs::Add(acc[r][v], row, operand[v]);
    }
  }
  const VF scale = hn::Set(d, factor);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(bias(r, v, hn::Mul(scale, acc[r][v])), d, scores + r * score_step + v * kLanes);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
