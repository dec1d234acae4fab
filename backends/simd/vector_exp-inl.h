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

/// 2^x for x <= 0. Minus infinity and everything below -150 give 0; results below 2^-126 may be 0. NaN stays NaN.
///
/// x = n + f with n whole and |f| <= 1/2; 2^f by the polynomial of degree 5 whose largest relative error is least
/// among those with 2^0 = 1: 9.1e-8. Largest relative error in float over [-126, 0]: 1.7e-7 with FMA, checked by the
/// building blocks' test. A higher degree would lower it to 8e-8 and cost every score one more operation.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
#if HWY_TARGET == HWY_SCALAR
  const V bounded = hn::IfThenElse(hn::Lt(x, hn::Set(d, -200.0F)), hn::Set(d, -200.0F), x);
#else
  // The order of operands matters: on x86 the maximum of a number and NaN is its second operand.
  const V bounded = hn::Max(hn::Set(d, -200.0F), x);
#endif
  const V whole = hn::Round(bounded);
  const V f = hn::Sub(bounded, whole);
  V p = hn::Set(d, kExp2Poly[5]);
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[4]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[3]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[2]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[1]));
  p = hn::MulAdd(p, f, hn::Set(d, kExp2Poly[0]));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // One instruction for the product with 2^n, which Highway of Debian 12 does not have.
  return V{_mm512_scalef_ps(p.raw, whole.raw)};
#else
  const hn::RebindToSigned<D> di;
  const auto exponent = hn::Add(hn::ConvertTo(di, hn::Max(whole, hn::Set(d, -126.0F))), hn::Set(di, 127));
  // A product, not a sum of exponent bits: it keeps NaN.
  const V scaled = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0F)), scaled);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
