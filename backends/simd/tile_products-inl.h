// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: the two fp32 products of an attention tile, with accumulators in registers.
#if defined(ATTN_TILE_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_TILE_PRODUCTS_INL_H
#undef ATTN_TILE_PRODUCTS_INL_H
#else
#define ATTN_TILE_PRODUCTS_INL_H
#endif

#include "backends/simd/tile_task.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;
using VI = hn::Vec<DI>;

/// Floats in a vector. Attention tiles have compile-time shapes, so this is for targets whose vectors have one size.
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(HWY_LANES(float));

/// Widest panel in vectors. With 32 registers 6 rows x 4 vectors (24 sums, 4 operands, 1 broadcast) keep both FMA
/// ports busy without spilling; with 16 registers 6 x 2 do.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int kPanelVectors = 4;
inline constexpr int kMaxVectors = 4;
constexpr int rows_for(int) { return 2; }
#elif HWY_TARGET <= HWY_AVX3
inline constexpr int kPanelVectors = 4;
inline constexpr int kMaxVectors = 5;
constexpr int rows_for(int vectors) { return vectors <= 3 ? 8 : vectors == 4 ? 6 : 5; }
#else
inline constexpr int kPanelVectors = 2;
inline constexpr int kMaxVectors = 3;
constexpr int rows_for(int vectors) { return vectors == 1 ? 8 : vectors == 2 ? 6 : 4; }
#endif

/// acc[r][v] += sum over depth of a[r][k] * b[k][v].
template <int kRows, int kVectors>
HWY_INLINE void Accumulate(const float* HWY_RESTRICT a, std::int64_t a_step, const float* HWY_RESTRICT b,
                           std::int64_t depth, VF (&acc)[kRows][kVectors]) {
  const DF d;
  for (std::int64_t k = 0; k < depth; ++k) {
    VF operand[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) operand[v] = hn::Load(d, b + v * kLanes);
    b += kVectors * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const VF factor = hn::Set(d, a[r * a_step + k]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(factor, operand[v], acc[r][v]);
    }
  }
}

inline constexpr float kLog2E = static_cast<float>(std::numbers::log2e);

/// Leaves a score as the product has it.
struct NoBias {
  HWY_INLINE VF operator()(int, int, VF score) const { return score; }
  template <int kVectors>
  HWY_INLINE void Ask(int) const {}
};

/// Adds the rows of an fp32 mask, in base 2, while the scores are still in registers: a pass of its own over the tile
/// would load and store each of them once more.
struct AddedBias {
  const float* mask = nullptr;   ///< of the first row and key; null: none is added
  std::int64_t step = 0;         ///< between rows, in elements
  const float* ahead = nullptr;  ///< rows that the next product adds

  /// Asks for a row of the next product. A mask's rows lie far apart and a large mask comes from memory for every
  /// head: no prefetcher sees them come, and asked for in one burst they stop the pipeline.
  template <int kVectors>
  HWY_INLINE void Ask(int row) const {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(ahead + row * step + v * kLanes, 0, 3);
  }
  HWY_INLINE VF operator()(int row, int vector, VF score) const {
    const DF d;
    return hn::MulAdd(hn::LoadU(d, mask + row * step + vector * kLanes), hn::Set(d, kLog2E), score);
  }
};

/// Calls body with the rows that are to be added, or with none.
template <class Body>
HWY_INLINE void WithBias(const AddedBias& bias, Body body) {
  if (bias.mask == nullptr) return body(NoBias());
  body(bias);
}

/// scores[r][...] = queries[r] . keys for one panel, then `bias(row, vector, score)`.
template <int kRows, int kVectors, class Bias>
HWY_NOINLINE void ScoreRows(const float* HWY_RESTRICT queries, std::int64_t query_step, const float* HWY_RESTRICT panel,
                            std::int64_t depth, float* HWY_RESTRICT scores, std::int64_t score_step, Bias bias) {
  const DF d;
  VF acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  if constexpr (std::is_same_v<Bias, NoBias>) {
    Accumulate<kRows, kVectors>(queries, query_step, panel, depth, acc);
  } else {
    std::int64_t at = 0;
    for (int r = 0; r < kRows; ++r) {
      bias.template Ask<kVectors>(r);
      const std::int64_t end = depth * (r + 1) / kRows;
      Accumulate<kRows, kVectors>(queries + at, query_step, panel + at * kVectors * kLanes, end - at, acc);
      at = end;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hn::StoreU(bias(r, v, acc[r][v]), d, scores + r * score_step + v * kLanes);
  }
}

/// out[r] = out[r] * rescale[r] + probabilities[r] . values, over the kept stretches of a key block. The rescaling of
/// an online softmax costs nothing here: the sums are loaded anyway.
template <int kRows, int kVectors>
HWY_NOINLINE void ValueRows(const float* HWY_RESTRICT probabilities, std::int64_t probability_step,
                            const float* HWY_RESTRICT panel, const Stretch* stretches, std::int64_t count,
                            const float* HWY_RESTRICT rescale, float* HWY_RESTRICT out, std::int64_t out_step) {
  const DF d;
  VF acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const VF factor = hn::Set(d, rescale[r]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Mul(factor, hn::LoadU(d, out + r * out_step + v * kLanes));
  }
  for (std::int64_t s = 0; s < count; ++s) {
    Accumulate<kRows, kVectors>(probabilities + stretches[s].column, probability_step,
                                panel + stretches[s].key * (kVectors * kLanes), stretches[s].keys, acc);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, out + r * out_step + v * kLanes);
  }
}

/// Cuts `rows` into groups that keep many sums in flight: as many full groups as fit, then two halves rather than one
/// thin rest, which would wait for its own additions.
template <int kFull, class Body>
HWY_INLINE void ForRowGroups(std::int64_t rows, Body body) {
  std::int64_t at = 0;
  while (rows - at >= kFull + 4 || rows - at == kFull) {
    body(at, std::integral_constant<int, kFull>{});
    at += kFull;
  }
  while (rows - at >= 4) {
    body(at, std::integral_constant<int, 4>{});
    at += 4;
  }
  if (rows - at >= 2) {
    body(at, std::integral_constant<int, 2>{});
    at += 2;
  }
  if (rows - at >= 1) body(at, std::integral_constant<int, 1>{});
}

template <int kVectors>
void ScorePanel(const float* queries, std::int64_t query_step, const float* panel, std::int64_t rows,
                std::int64_t depth, float* scores, std::int64_t score_step) {
  ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
    ScoreRows<decltype(group)::value, kVectors>(queries + at * query_step, query_step, panel, depth,
                                                scores + at * score_step, score_step, NoBias());
  });
}

template <int kVectors>
void ValuePanel(const float* probabilities, std::int64_t probability_step, const float* panel, const Stretch* stretches,
                std::int64_t count, std::int64_t rows, const float* rescale, float* out, std::int64_t out_step) {
  ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
    ValueRows<decltype(group)::value, kVectors>(probabilities + at * probability_step, probability_step, panel,
                                                stretches, count, rescale + at, out + at * out_step, out_step);
  });
}

/// Panels are whole multiples of this many floats: bytes are multiplied in words of four keys, also where a vector
/// holds fewer.
inline constexpr std::int64_t kPanelUnit = kLanes < 4 ? 4 : kLanes;

/// Calls body with the panel's width as a constant.
template <class Body>
HWY_INLINE void WithVectors(int vectors, Body body) {
  switch (vectors) {
    case 1:
      return body(std::integral_constant<int, 1>{});
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 3:
      return body(std::integral_constant<int, 3>{});
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_SCALAR
    case 4:
      return body(std::integral_constant<int, 4>{});
#endif
#if HWY_TARGET <= HWY_AVX3
    case 5:
      return body(std::integral_constant<int, 5>{});
#endif
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
