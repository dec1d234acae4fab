// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: the online softmax of one score row.
#if defined(ATTN_TILE_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_TILE_SOFTMAX_INL_H
#undef ATTN_TILE_SOFTMAX_INL_H
#else
#define ATTN_TILE_SOFTMAX_INL_H
#endif

#include "backends/simd/tile_task.h"
#include "backends/simd/vector_exp-inl.h"

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// An infinite score takes all the weight, shared between equals: the limit that inf - inf would hide.
inline HWY_NOINLINE float SoftmaxInfiniteRow(float* scores, std::int64_t count, float* maximum, float* sum) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float rescale = *maximum == kInfinity ? 1.0F : 0.0F;
  float total = *sum * rescale;
  for (std::int64_t j = 0; j < count; ++j) {
    if (scores[j] == scores[j]) scores[j] = scores[j] == kInfinity ? 1.0F : 0.0F;
    total += scores[j];
  }
  *maximum = kInfinity;
  *sum = total;
  return rescale;
}

/// The largest of `start` and the scores. `count` is a multiple of the vector; four independent chains, because a
/// maximum is a chain of dependent operations otherwise.
HWY_INLINE float LargestScore(const float* scores, std::int64_t count, float start) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t four = count / (4 * lanes) * (4 * lanes);
  V m0 = hn::Set(d, start), m1 = m0, m2 = m0, m3 = m0;
  for (std::int64_t j = 0; j < four; j += 4 * lanes) {
    m0 = hn::Max(m0, hn::LoadU(d, scores + j));
    m1 = hn::Max(m1, hn::LoadU(d, scores + j + lanes));
    m2 = hn::Max(m2, hn::LoadU(d, scores + j + 2 * lanes));
    m3 = hn::Max(m3, hn::LoadU(d, scores + j + 3 * lanes));
  }
  for (std::int64_t j = four; j < count; j += lanes) m0 = hn::Max(m0, hn::LoadU(d, scores + j));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
}

/// As a vector's maximum has it: the second where either is no number.
HWY_INLINE float LargerOf(float a, float b) { return a > b ? a : b; }

/// What is subtracted from a row's scores: its maximum, or 0 where no key is allowed yet, so that every difference is
/// minus infinity.
HWY_INLINE float ShiftFor(float maximum) { return maximum == -std::numeric_limits<float>::infinity() ? 0.0F : maximum; }

/// Moves a row's maximum on; returns the factor for what was summed before.
HWY_INLINE float MoveMaximum(float largest, float* maximum) {
  const hn::ScalableTag<float> d;
  const float rescale = hn::GetLane(Exp2(d, hn::Set(d, *maximum - ShiftFor(largest))));
  *maximum = largest;
  return rescale;
}

/// Turns base-2 scores into 2^(score - maximum), moves the row's state on and returns the factor for what was summed
/// before (Milakov and Gimelshein, arXiv 1805.02867). `count` is a multiple of the vector, `top` the largest score.
HWY_INLINE float SoftmaxRow(float* HWY_RESTRICT scores, std::int64_t count, float top, float* maximum, float* sum) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t four = count / (4 * lanes) * (4 * lanes);
  const float largest = LargerOf(*maximum, top);
  if (largest == std::numeric_limits<float>::infinity()) return SoftmaxInfiniteRow(scores, count, maximum, sum);
  const V shift = hn::Set(d, ShiftFor(largest));
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (std::int64_t j = 0; j < four; j += 4 * lanes) {
    const V p0 = Exp2(d, hn::Sub(hn::LoadU(d, scores + j), shift));
    const V p1 = Exp2(d, hn::Sub(hn::LoadU(d, scores + j + lanes), shift));
    const V p2 = Exp2(d, hn::Sub(hn::LoadU(d, scores + j + 2 * lanes), shift));
    const V p3 = Exp2(d, hn::Sub(hn::LoadU(d, scores + j + 3 * lanes), shift));
    s0 = hn::Add(s0, p0);
    s1 = hn::Add(s1, p1);
    s2 = hn::Add(s2, p2);
    s3 = hn::Add(s3, p3);
    hn::StoreU(p0, d, scores + j);
    hn::StoreU(p1, d, scores + j + lanes);
    hn::StoreU(p2, d, scores + j + 2 * lanes);
    hn::StoreU(p3, d, scores + j + 3 * lanes);
  }
  for (std::int64_t j = four; j < count; j += lanes) {
    const V p = Exp2(d, hn::Sub(hn::LoadU(d, scores + j), shift));
    s0 = hn::Add(s0, p);
    hn::StoreU(p, d, scores + j);
  }
  const float added = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  const float rescale = MoveMaximum(largest, maximum);
  *sum = *sum * rescale + added;
  return rescale;
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
