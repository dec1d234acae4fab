// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: rows of any input dtype to fp32, and fp32 rows into the panels that the products read.
#if defined(ATTN_TILE_PACKING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_TILE_PACKING_INL_H
#undef ATTN_TILE_PACKING_INL_H
#else
#define ATTN_TILE_PACKING_INL_H
#endif

#include "backends/simd/tile_products-inl.h"
#include "core/tensor/dtype.h"
#include "core/tensor/half.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether the instruction set converts binary16 itself. Where it does not, Highway's own way takes infinities for
/// numbers, and the conversion of core/tensor serves.
inline constexpr bool kConvertsHalf = (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM;

/// A vector of binary16 or bfloat16 in fp32.
template <class Half>
HWY_INLINE VF Widen(const Half* from) {
  const DF d;
  if constexpr (std::is_same_v<Half, hwy::float16_t> && !kConvertsHalf) {
    HWY_ALIGN float wide[HWY_LANES(float)];
    for (std::int64_t i = 0; i < kLanes; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, from + i, sizeof(bits));
      wide[i] = to_float(Float16{bits});
    }
    return hn::Load(d, wide);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<Half, DF>(), from));
  }
}

/// A vector to binary16 or bfloat16: to the nearest, halves to even; NaN stays NaN.
template <class Half>
HWY_INLINE void Narrow(VF wide, Half* to) {
  const DF d;
  if constexpr (std::is_same_v<Half, hwy::float16_t> && !kConvertsHalf) {
    HWY_ALIGN float numbers[HWY_LANES(float)];
    hn::Store(wide, d, numbers);
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const std::uint16_t bits = to_float16(numbers[i]).bits;
      std::memcpy(to + i, &bits, sizeof(bits));
    }
  } else if constexpr (std::is_same_v<Half, hwy::float16_t>) {
    hn::StoreU(hn::DemoteTo(hn::Rebind<Half, DF>(), wide), hn::Rebind<Half, DF>(), to);
  } else {
    // Highway's own demotion to bfloat16 cuts off.
    const hn::RebindToUnsigned<DF> du;
    const auto bits = hn::BitCast(du, wide);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFU)));
    // A NaN's payload must not round to infinity.
    const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000U));
    const auto nan = hn::RebindMask(du, hn::Ne(wide, wide));
    const hn::Rebind<Half, DF> dh;
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(d, hn::IfThenElse(nan, quiet, rounded))), dh, to);
  }
}

/// `count` elements that lie one after another, widened to fp32 and multiplied by `factor`.
template <class Half>
HWY_INLINE void WidenRow(const Half* from, std::int64_t count, float factor, float* HWY_RESTRICT to) {
  const DF d;
  const VF scale = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::Mul(scale, Widen(from + i)), d, to + i);
  if (i == count) return;
  if (count >= kLanes) {  // a vector that ends with the row: some elements twice, and no copy of odd length
    i = count - kLanes;
    return hn::StoreU(hn::Mul(scale, Widen(from + i)), d, to + i);
  }
  HWY_ALIGN Half rest[HWY_LANES(float)] = {};
  HWY_ALIGN float wide[HWY_LANES(float)];
  std::memcpy(rest, from + i, static_cast<std::size_t>(count - i) * sizeof(Half));
  hn::Store(hn::Mul(scale, Widen(rest)), d, wide);
  std::memcpy(to + i, wide, static_cast<std::size_t>(count - i) * sizeof(float));
}

/// The other way.
template <class Half>
HWY_INLINE void NarrowRow(const float* from, std::int64_t count, Half* to) {
  const DF d;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Narrow(hn::LoadU(d, from + i), to + i);
  if (i == count) return;
  if (count >= kLanes) return Narrow(hn::LoadU(d, from + count - kLanes), to + count - kLanes);
  HWY_ALIGN float rest[HWY_LANES(float)] = {};
  HWY_ALIGN Half narrow[HWY_LANES(float)];
  std::memcpy(rest, from + i, static_cast<std::size_t>(count - i) * sizeof(float));
  Narrow(hn::Load(d, rest), narrow);
  std::memcpy(to + i, narrow, static_cast<std::size_t>(count - i) * sizeof(Half));
}

HWY_INLINE void ScaleRow(const float* from, std::int64_t count, float factor, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}

/// A quotient, where a product with the reciprocal would be off by its last bit.
HWY_INLINE void DivideRow(float* row, std::int64_t count, float divisor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] /= divisor;
}

/// One row whose elements lie one after another. Only the three dtypes of attention inputs.
HWY_INLINE void LoadRow(DType dtype, const void* from, std::int64_t count, float factor, float* to) {
  switch (dtype) {
    case DType::float32:
      return ScaleRow(static_cast<const float*>(from), count, factor, to);
    case DType::bfloat16:
      return WidenRow(static_cast<const hwy::bfloat16_t*>(from), count, factor, to);
    case DType::float16:
      return WidenRow(static_cast<const hwy::float16_t*>(from), count, factor, to);
    default:
      return;
  }
}

/// Transposes `keys` rows of `depth` floats into a panel (depth, width): column j of the panel is key j; columns from
/// `keys` on are zero. `width` is a multiple of 4. Works on blocks of 4 x 4 in 128-bit vectors.
HWY_INLINE void PackKeys(const float* rows, std::int64_t row_step, std::int64_t keys, std::int64_t depth,
                         std::int64_t width, float* HWY_RESTRICT panel) {
#if HWY_TARGET == HWY_SCALAR
  const std::int64_t whole_keys = 0;
  const std::int64_t whole_depth = 0;
#else
  const hn::CappedTag<float, 4> d4;
  const hn::RepartitionToWide<decltype(d4)> d2;
  const std::int64_t whole_keys = keys / 4 * 4;
  const std::int64_t whole_depth = depth / 4 * 4;
  for (std::int64_t k = 0; k < whole_depth; k += 4) {
    float* out = panel + k * width;
    for (std::int64_t j = 0; j < whole_keys; j += 4) {
      const float* in = rows + j * row_step + k;
      const auto a = hn::LoadU(d4, in);
      const auto b = hn::LoadU(d4, in + row_step);
      const auto c = hn::LoadU(d4, in + 2 * row_step);
      const auto e = hn::LoadU(d4, in + 3 * row_step);
      const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d4, a, b));
      const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(d4, a, b));
      const auto ce_low = hn::BitCast(d2, hn::InterleaveLower(d4, c, e));
      const auto ce_high = hn::BitCast(d2, hn::InterleaveUpper(d4, c, e));
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_low, ce_low)), d4, out + j);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_low, ce_low)), d4, out + width + j);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_high, ce_high)), d4, out + 2 * width + j);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_high, ce_high)), d4, out + 3 * width + j);
    }
  }
#endif
  for (std::int64_t k = whole_depth; k < depth; ++k) {
    for (std::int64_t j = 0; j < whole_keys; ++j) panel[k * width + j] = rows[j * row_step + k];
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = whole_keys; j < keys; ++j) panel[k * width + j] = rows[j * row_step + k];
    for (std::int64_t j = keys; j < width; ++j) panel[k * width + j] = 0.0F;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
