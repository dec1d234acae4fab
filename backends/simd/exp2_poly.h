// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace attn {

/// Coefficients of 2^f on [-1/2, 1/2], lowest power first, for the least relative error (9.1e-8)
/// with 2^0 = 1, so that equal scores share their weight exactly; see Exp2 in vector_exp-inl.h.
inline constexpr float kExp2Poly[6] = {
    1.0F, 0.69314700F, 0.24022242F, 0.055507336F, 0.0096715130F, 0.0013264727F,
};

}  // namespace attn
