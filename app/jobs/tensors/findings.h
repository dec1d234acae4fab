// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn::app {

/// Elements of a tensor that are not numbers to compute with.
struct ValueCounts {
  std::int64_t nan = 0;
  std::int64_t inf = 0;
};
[[nodiscard]] ValueCounts count_values(const TensorView& view);

/// Rows of the mask (its own rows, before broadcasting, times the query rows where causal adds to it) that allow no
/// key. 0 without a mask.
[[nodiscard]] std::int64_t fully_masked_rows(const AttentionCall& call);

/// Whether an additive mask holds nothing but 0 and 1, both of them: most likely meant as a boolean one.
[[nodiscard]] bool looks_like_boolean(const TensorView& mask);

/// What a person should know about the data of a call, one sentence each: fully masked rows, a float mask of 0 and 1.
[[nodiscard]] std::vector<std::string> findings_of(const AttentionCall& call);

}  // namespace attn::app
