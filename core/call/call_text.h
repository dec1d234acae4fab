// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <string>
#include <string_view>

namespace attn {

/// A call as people write it, with what the generation says about the moment it is made.
struct WrittenCall {
  AttentionCall call;
  Role role = Role::transformer;
  int step = 0;
  int steps = 0;                 ///< 0: not stated
  std::int64_t hidden_keys = 0;  ///< of mask=padding:N; whoever fills the mask hides the last N keys
  bool devices_stated = false;   ///< the text says where the tensors are
};

/// One line of help that names every token parse_call knows.
[[nodiscard]] std::string_view call_notation_help() noexcept;

/// Reads the written call notation, for instance
///     q[1,24,4608,128] k[1,24,4608,128] bf16 mask=bool causal gqa scale=0.1 strides=qkv role=transformer step=3/20
/// `k` defaults to `q`, `v` to `k`, bf16, no mask, contiguous, role transformer. mask is none, bool, float,
/// padding:N (the last N keys hidden), or an explicit shape such as bool[1,1,64,64]; bool and float alone are
/// (1, 1, Sq, Sk), padding is (1, 1, 1, Sk), a float mask has the query's dtype. strides is contiguous,
/// transposed (tokens before heads in memory), qkv (out of one projection; of two where the lengths differ),
/// expanded (key and value with one head, or one batch element, for all) or explicit per tensor
/// (q_strides=[...], k_strides=[...], v_strides=[...]). q=fp32, k=fp32, v=bf16 set one tensor's dtype,
/// device=cpu and q_device=, k_device=, v_device= its device. Brackets may hold spaces; q=[...] reads as q[...].
/// Without a device the tensors stand on an accelerator and devices_stated is false: whoever knows the target may
/// place them. The result has passed check_call().
/// Error: one sentence with the token that is wrong and what would be right.
[[nodiscard]] Expected<WrittenCall> parse_call(std::string_view text);

/// The shortest text that parse_call reads back as the same call.
[[nodiscard]] std::string write_call(const WrittenCall& written);

}  // namespace attn
