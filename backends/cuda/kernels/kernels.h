// SPDX-License-Identifier: GPL-3.0-or-later
// The host-callable entry points of the CUDA kernels. refuse_* and *_workspace_bytes need no toolkit; launch_* exist in
// builds with CUDA. Launches are asynchronous on `stream` (a cudaStream_t), allocate nothing, read nothing back and can
// be captured into a CUDA graph. They may be called from any thread whose current device is the stream's.
#pragma once

#include "backends/cuda/kernels/tasks.h"

#include <cstdint>
#include <string_view>

namespace attn::cuda {

/// What a launch call returned. `code` is a cudaError_t as a number; 0 is success.
struct LaunchStatus {
  int code = 0;
  const char* kernel = "";  ///< the kernel whose launch failed: "int8 attention 128"

  [[nodiscard]] bool ok() const noexcept { return code == 0; }
};

/// Why the kernel cannot compute a task, as a static clause that completes "the kernel ..."; empty when it can.
[[nodiscard]] std::string_view refuse_int8_attention(const AttentionTask& task, const Int8Options& options) noexcept;
[[nodiscard]] std::string_view refuse_exact_attention(const AttentionTask& task) noexcept;
[[nodiscard]] std::string_view refuse_selection(const SelectionTask& task) noexcept;

/// Device memory that a launch needs beyond its tensors, aligned to 256 bytes; 0 when none.
[[nodiscard]] std::int64_t int8_workspace_bytes(const AttentionTask& task, const Int8Options& options) noexcept;
[[nodiscard]] std::int64_t exact_workspace_bytes(const AttentionTask& task) noexcept;
[[nodiscard]] std::int64_t selection_workspace_bytes(const SelectionTask& task) noexcept;

/// Attention with INT8 scores and float16 or bfloat16 values: quantises query and key into the workspace, then
/// computes. The task must have passed refuse_int8_attention().
[[nodiscard]] LaunchStatus launch_int8_attention(const AttentionTask& task, const Int8Options& options, void* workspace,
                                                 void* stream);

/// Attention in float16 or bfloat16 with fp32 sums: what serves exact calls where cuDNN is absent.
[[nodiscard]] LaunchStatus launch_exact_attention(const AttentionTask& task, void* workspace, void* stream);

/// Pools, scores, ranks and keeps: writes the lists, and `keep` where it is given. Equals select_tiles() bit for bit.
[[nodiscard]] LaunchStatus launch_selection(const SelectionTask& task, void* workspace, void* stream);

/// Turns a selection's `keep` bytes for (list_heads, query_tiles, key_tiles), already in device memory, into lists. The
/// lists' steps are not looked at: `list_heads` of them lie one behind the other.
[[nodiscard]] LaunchStatus launch_list_tiles(const std::uint8_t* keep, int list_heads, const TileLists& lists,
                                             void* stream);

}  // namespace attn::cuda
