// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: exp2 for vectors of float.
#if defined(ATTN_VECTOR_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_VECTOR_EXP_INL_H
#undef ATTN_VECTOR_EXP_INL_H
#else
#define ATTN_VECTOR_EXP_INL_H
#endif

#include "backends/simd/exp2_poly.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 2^x for x <= 0; 0 below -126, minus infinity included, so that no denormal is made. NaN stays NaN.
///
/// x = n + f with n whole and |f| <= 1/2; 2^f by the polynomial of degree 6 that is minimax in the relative error
/// (Remez exchange in double: 1.9e-9). Largest relative error in float over [-126, 0]: 8e-8, checked by the building
/// blocks' test.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V whole = hn::Round(x);
  const V f = hn::Sub(x, whole);
  V p = hn::Set(d, kExp2Poly[6]);
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[5]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[4]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[3]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[2]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[1]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[0]));
  const auto exponent = hn::Add(hn::ConvertTo(di, hn::Max(whole, hn::Set(d, -126.0F))), hn::Set(di, 127));
  // A product, not a sum of exponent bits: it keeps NaN.
  const V scaled = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0F)), scaled);
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
