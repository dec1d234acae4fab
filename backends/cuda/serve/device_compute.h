// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/transfer.h"
#include "backends/cuda/serve/local_gpu.h"
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::cuda {

/// A call's tensors in device memory.
struct PlacedCall {
  DeviceCopy query;
  DeviceCopy key;
  DeviceCopy value;
  DeviceCopy mask;
  DeviceCopy output;
  AttentionCall call;  ///< the same call with device addresses
};

/// What a recorded call reads when it runs, in device memory.
struct StepTable {
  const float* budgets = nullptr;  ///< one per step; null: the call is not recorded, its selection's own budget holds
  int steps = 0;
  const int* step = nullptr;  ///< the step cell
};

/// A call that only has to be launched: its tensors, workspace and tables are in device memory, which it holds.
class PreparedCall {
 public:
  PreparedCall() = default;
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;
  virtual ~PreparedCall() = default;

  /// Queues the kernels, as often as wanted. Allocates nothing, copies nothing, waits for nothing: it can be recorded.
  [[nodiscard]] virtual Expected<void> launch() = 0;
  /// What the kernels leave to the host, once the output is in `call`'s.
  virtual void complete(const AttentionCall& call) const { (void)call; }
};

/// One way to compute a call on a GPU. The GPU's lock is held by whoever prepares, launches or lets go of a call.
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
  /// refusal() where that is known without asking a library that would take its time; nullopt: the first call asks.
  [[nodiscard]] virtual std::optional<std::string> known_refusal(const AttentionCall& call,
                                                                 const BlockSelection* selection) const {
    return refusal(call, selection);
  }
  /// Whether it takes a selection without tiles and chooses them on the device, by the selection's rule. Needs no data.
  [[nodiscard]] virtual bool chooses_tiles(const AttentionCall&, const BlockSelection&) const { return false; }
  /// Whether the mask goes to the device as it is; else prepare() makes of it what it needs.
  [[nodiscard]] virtual bool reads_mask() const noexcept { return true; }
  /// Readies a call whose tensors are placed. `host` is the call with its views on the host; what is queued through
  /// `transfer` has gone when that has finished. `placed` must outlive what is returned.
  [[nodiscard]] virtual Expected<std::unique_ptr<PreparedCall>> prepare(LocalGpu& gpu, Transfer& transfer,
                                                                        const AttentionCall& host,
                                                                        const PlacedCall& placed,
                                                                        const BlockSelection* selection,
                                                                        const StepTable& steps) const = 0;
};

/// Ways to compute a call, the one to be asked first at the front.
using DeviceComputes = std::vector<std::shared_ptr<const DeviceCompute>>;

/// Uploads query, key, value and, `with_mask`, the mask; makes room for an output of the call's output dtype.
[[nodiscard]] Expected<PlacedCall> place(Transfer& transfer, const AttentionCall& call, bool with_mask);

/// Computes a call whose views are on the host into call.output, and waits. The GPU's lock is held by the caller.
/// The error names the call that failed. Leaves the kernels' time in gpu.milliseconds.
[[nodiscard]] Expected<void> compute_on(LocalGpu& gpu, const DeviceCompute& compute, const AttentionCall& call,
                                        const BlockSelection* selection);

}  // namespace attn::cuda
