// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <cstdint>

namespace attn {

/// Attention in three steps, as torch's math path does it: scores, softmax over whole rows, product with the values.
/// The score matrix is held in fp32, here for as many (batch, head) at a time as threads run; torch holds all of them,
/// which is what score_matrix_bytes() counts. The call must have passed refusal().
void math_attention(const AttentionCall& call);

/// B * H * Sq * Sk * 4.
[[nodiscard]] std::int64_t score_matrix_bytes(const AttentionCall& call) noexcept;

}  // namespace attn
