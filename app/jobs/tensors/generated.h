// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <string>

namespace attn::app {

/// A call with memory of its own, in the layout that the call states. Move only; `call` stays valid after a move.
struct CallTensors {
  AttentionCall call;
  HostBuffer query, key, value, mask, output;
};

/// Standard normal number number `index` of stream (seed, stream): counter based (SplitMix64 mixing, Box-Muller),
/// so the answer depends on nothing but the three numbers.
[[nodiscard]] float normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept;

/// Bytes that generate() allocates for a call.
[[nodiscard]] std::int64_t tensor_bytes(const AttentionCall& call);

/// Fills query, key and value with standard normal numbers by their logical index, so that a strided view and a
/// contiguous tensor hold the same values; elements that a stride of 0 shares are one element. The last
/// `hidden_keys` keys are hidden by the mask: false, or minus infinity; 0 hides the last eighth of the keys,
/// which is what padded prompts look like. The output is contiguous, of the query's dtype, zeroed.
/// Works on several threads; the result does not depend on how many.
[[nodiscard]] CallTensors generate(const AttentionCall& call, std::uint64_t seed, std::int64_t hidden_keys = 0);

/// The same values in contiguous tensors.
[[nodiscard]] CallTensors contiguous_copy(const CallTensors& tensors);

/// Bytes that this process may still take: free memory of the machine, less where a control group sets a limit.
[[nodiscard]] std::int64_t available_memory();

/// "1.5 GiB", "12 KiB".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

/// Fails with a sentence when the call's tensors and `kernel_bytes` beyond them do not fit into `available`.
[[nodiscard]] Expected<void> check_memory(const AttentionCall& call, std::int64_t kernel_bytes, std::int64_t available);

}  // namespace attn::app
