// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <string_view>

namespace attn {

/// How the three tensors of a call lie in memory, as people write it after strides=.
enum class CallLayout : std::uint8_t {
  contiguous,
  transposed,  ///< tokens before heads in memory: each a (batch, tokens, heads, head_dim) tensor seen transposed
  fused_qkv,   ///< out of one projection that holds q, k and v of a token side by side; where query and key
               ///< lengths differ, query alone and key with value
  expanded,    ///< key and value hold one head for all, or one batch element where there is one head
};

/// "contiguous", "transposed", "qkv", "expanded".
[[nodiscard]] std::string_view name_of(CallLayout layout) noexcept;

/// Gives query, key and value the strides of `layout`; shapes stay. Error: the layout needs a dimension that the
/// call does not have.
[[nodiscard]] Expected<void> lay_out(AttentionCall& call, CallLayout layout);

}  // namespace attn
