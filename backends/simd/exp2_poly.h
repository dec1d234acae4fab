// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace attn {

/// Coefficients of 2^f on [-1/2, 1/2], lowest power first; see Exp2 in vector_exp-inl.h.
inline constexpr float kExp2Poly[7] = {
    1.0F, 0.6931472F, 0.24022646F, 0.055503286F, 0.009618489F, 0.0013399931F, 0.00015345812F,
};

}  // namespace attn
