// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: products of bytes with int32 sums in registers.
#if defined(ATTN_INT8_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_INT8_PRODUCTS_INL_H
#undef ATTN_INT8_PRODUCTS_INL_H
#else
#define ATTN_INT8_PRODUCTS_INL_H
#endif

#include "backends/simd/tile_products-inl.h"
#include "backends/simd/tile_task.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3_DL
/// VNNI multiplies unsigned by signed bytes, so queries are stored 128 higher.
inline constexpr int kQueryBias = 128;

/// Four bytes of a row, in every lane.
struct RowWord {
  VI bytes;
};
HWY_INLINE RowWord LoadWord(const std::uint8_t* from) {
  std::int32_t word;
  std::memcpy(&word, from, sizeof(word));
  return {hn::Set(DI(), word)};
}
/// Four bytes of each column, ready to be multiplied.
struct ColumnWords {
  VI bytes;
};
HWY_INLINE ColumnWords LoadColumns(const std::int8_t* from) {
  return {hn::Load(DI(), reinterpret_cast<const std::int32_t*>(from))};
}
/// sum + the four products of each lane. Neither an operation nor the compiler flag for the intrinsic belongs to this
/// target in Highway of Debian 12, although its run-time check asks for the instruction.
HWY_INLINE VI AddProducts(VI sum, const RowWord& row, const ColumnWords& columns) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(row.bytes.raw), "v"(columns.bytes.raw));
  return sum;
}
#else
inline constexpr int kQueryBias = 0;

#if HWY_TARGET == HWY_SCALAR
struct RowWord {
  std::int8_t bytes[4];
};
HWY_INLINE RowWord LoadWord(const std::uint8_t* from) {
  RowWord word;
  std::memcpy(word.bytes, from, 4);
  return word;
}
using ColumnWords = RowWord;
HWY_INLINE ColumnWords LoadColumns(const std::int8_t* from) {
  ColumnWords word;
  std::memcpy(word.bytes, from, 4);
  return word;
}
HWY_INLINE VI AddProducts(VI sum, const RowWord& row, const ColumnWords& columns) {
  std::int32_t total = hn::GetLane(sum);
  for (int i = 0; i < 4; ++i) total += std::int32_t{row.bytes[i]} * std::int32_t{columns.bytes[i]};
  return hn::Set(DI(), total);
}
#else
/// Bytes as 16-bit numbers, the even and the odd ones of each word: their products are added in pairs.
using D16 = hn::Repartition<std::int16_t, DI>;
using V16 = hn::Vec<D16>;
struct RowWord {
  V16 even;
  V16 odd;
};
using ColumnWords = RowWord;
HWY_INLINE RowWord Halves(VI words) {
  const V16 both = hn::BitCast(D16(), words);
  return {hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), hn::ShiftRight<8>(both)};
}
HWY_INLINE RowWord LoadWord(const std::uint8_t* from) {
  std::int32_t word;
  std::memcpy(&word, from, sizeof(word));
  return Halves(hn::Set(DI(), word));
}
HWY_INLINE ColumnWords LoadColumns(const std::int8_t* from) {
  return Halves(hn::Load(DI(), reinterpret_cast<const std::int32_t*>(from)));
}
HWY_INLINE VI AddProducts(VI sum, const RowWord& row, const ColumnWords& columns) {
  // Highway may spread the pair sums over two accumulators; both count.
  VI rest = hn::Zero(DI());
  sum = hn::ReorderWidenMulAccumulate(DI(), row.even, columns.even, sum, rest);
  sum = hn::ReorderWidenMulAccumulate(DI(), row.odd, columns.odd, sum, rest);
  return hn::Add(sum, rest);
}
#endif
#endif

/// acc[r][v] += the products of row r's words with each column's.
template <int kRows, int kVectors>
HWY_INLINE void AccumulateBytes(const std::uint8_t* HWY_RESTRICT a, std::int64_t a_step,
                                const std::int8_t* HWY_RESTRICT b, std::int64_t words, VI (&acc)[kRows][kVectors]) {
  for (std::int64_t k = 0; k < words; ++k) {
    ColumnWords columns[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) columns[v] = LoadColumns(b + 4 * v * kLanes);
    b += 4 * kVectors * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const RowWord row = LoadWord(a + r * a_step + 4 * k);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[r][v] = AddProducts(acc[r][v], row, columns[v]);
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void ClearBytes(VI (&acc)[kRows][kVectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(DI());
  }
}

/// scores[r] = (products - bias * key_sum) * query_factor[r] * key_factor.
template <int kRows, int kVectors, class Bias>
HWY_NOINLINE void ScoreBytes(const std::uint8_t* HWY_RESTRICT queries, std::int64_t query_step,
                             const float* HWY_RESTRICT query_factor, const std::int8_t* HWY_RESTRICT panel,
                             const std::int32_t* HWY_RESTRICT key_sum, const float* HWY_RESTRICT key_factor,
                             std::int64_t words, float* HWY_RESTRICT scores, std::int64_t score_step, Bias bias) {
  const DF d;
  const DI di;
  VI acc[kRows][kVectors];
  ClearBytes<kRows, kVectors>(acc);
  for (int r = 0; r < kRows; ++r) bias.template Ask<kVectors>(r);
  AccumulateBytes<kRows, kVectors>(queries, query_step, panel, words, acc);
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const VI sum = hn::LoadU(di, key_sum + v * kLanes);
    const VF factor = hn::LoadU(d, key_factor + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const VF product = hn::ConvertTo(d, hn::Sub(acc[r][v], sum));
      hn::StoreU(bias(r, v, hn::Mul(product, hn::Mul(factor, hn::Set(d, query_factor[r])))), d,
                 scores + r * score_step + v * kLanes);
    }
  }
}

/// out[r] = out[r] * rescale[r] + the sum over the stretches of products * factor. Each stretch has factors of its own:
/// factor[s * factor_step + r].
template <int kRows, int kVectors>
HWY_NOINLINE void ValueBytes(const std::uint8_t* HWY_RESTRICT probabilities, std::int64_t probability_step,
                             const std::int8_t* HWY_RESTRICT panel, const Stretch* stretches, std::int64_t count,
                             const float* HWY_RESTRICT factor, std::int64_t factor_step,
                             const float* HWY_RESTRICT rescale, float* HWY_RESTRICT out, std::int64_t out_step) {
  const DF d;
  for (std::int64_t s = 0; s < count; ++s) {
    VI acc[kRows][kVectors];
    ClearBytes<kRows, kVectors>(acc);
    AccumulateBytes<kRows, kVectors>(probabilities + stretches[s].column, probability_step,
                                     panel + stretches[s].key * (kVectors * kLanes), (stretches[s].keys + 3) / 4, acc);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const VF back = hn::Set(d, factor[s * factor_step + r]);
      const VF before = hn::Set(d, s == 0 ? rescale[r] : 1.0F);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* at = out + r * out_step + v * kLanes;
        hn::StoreU(hn::MulAdd(hn::ConvertTo(d, acc[r][v]), back, hn::Mul(before, hn::LoadU(d, at))), d, at);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
