// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/tensor/expected.h"
#include "core/tensor/host_buffer.h"

#include <array>
#include <cstdint>
#include <vector>

namespace attn::cudnn {

/// An attn_mask as an fp32 bias that cuDNN adds. cuDNN's softmax of a row of minus infinities is not a number, so a key
/// that is not allowed gets a low finite number, and the rows that have no allowed key are named: their output is 0.
struct MaskBias {
  HostTensor bias;  ///< (batch or 1, heads or 1, query_tokens or 1, key_tokens)
  std::vector<std::uint8_t>
      none;                       ///< per (batch, head, query token) of bias: 1 where no key is allowed; empty: nowhere
  std::int64_t query_tokens = 0;  ///< of `none`: the call's with is_causal, else the bias' own
};

/// Added to the score of a key that is not allowed.
inline constexpr float kNotAllowed = -1e30F;

/// Error: the mask has finite numbers as low as kNotAllowed beside minus infinities, which would trade places.
[[nodiscard]] Expected<MaskBias> bias_of_mask(const AttentionCall& call);

/// Sets the output rows that have no allowed key to 0.
void clear_rows(const MaskBias& bias, const AttentionCall& call);

}  // namespace attn::cudnn
