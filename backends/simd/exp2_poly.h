// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace attn {

/// Coefficients of 2^f on [-1/2, 1/2], lowest power first; see Exp2 in vector_exp-inl.h.
inline constexpr float kExp2Poly[6] = {
    1.0000001F, 0.69314694F, 0.2402212F, 0.05550713F, 0.009675541F, 0.0013276472F,
};

}  // namespace attn
