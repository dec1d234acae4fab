// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/transfer.h"
#include "backends/cuda/serve/local_gpu.h"
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <string>
#include <string_view>

namespace attn::cuda {

/// One way to compute a call on a GPU.
class DeviceCompute {
 public:
  DeviceCompute() = default;
  DeviceCompute(const DeviceCompute&) = delete;
  DeviceCompute& operator=(const DeviceCompute&) = delete;
  virtual ~DeviceCompute() = default;

  /// "cuDNN", "own int8 kernel": as explain shows it.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Why it does not take the call, as a clause that completes its name; empty when it does. Needs no data.
  [[nodiscard]] virtual std::string refusal(const AttentionCall& call, const BlockSelection* selection) const = 0;
  /// Computes a call whose views are on the host into call.output, and waits. The GPU's lock is held by the caller.
  /// The error names the call that failed. Leaves the kernels' time in gpu.milliseconds.
  [[nodiscard]] virtual Expected<void> run(LocalGpu& gpu, const AttentionCall& call,
                                           const BlockSelection* selection) const = 0;
};

/// A call's tensors in device memory.
struct PlacedCall {
  DeviceCopy query;
  DeviceCopy key;
  DeviceCopy value;
  DeviceCopy mask;
  DeviceCopy output;
  AttentionCall call;  ///< the same call with device addresses
};

/// Uploads query, key, value and, `with_mask`, the mask; makes room for an output of the call's output dtype.
[[nodiscard]] Expected<PlacedCall> place(Transfer& transfer, const AttentionCall& call, bool with_mask);

/// Writes the time between the marks into gpu.milliseconds, once the stream has finished.
[[nodiscard]] Expected<void> note_time(LocalGpu& gpu);

}  // namespace attn::cuda
