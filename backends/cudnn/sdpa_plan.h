// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/device_properties.h"
#include "backends/cudnn/sdpa_graph.h"

#include <memory>
#include <string>
#include <vector>

namespace attn::cudnn {

/// What cuDNN says about a problem on a GPU.
struct SdpaSupport {
  int proposed = 0;    ///< engine configurations that the heuristics name
  int viable = 0;      ///< those that pass cuDNN's own support check, code generation included
  std::string reason;  ///< why none is viable, in cuDNN's words
};

/// What is not cuDNN's to refuse: fp32 tensors, which it takes and computes in a shorter format, and block masks that
/// the version does not have. Asks nobody.
[[nodiscard]] Expected<void> takes(const Library& library, const SdpaProblem& problem);

/// Asks without building. Needs no GPU; since cuDNN 9.8 some engines want the driver library to be there.
[[nodiscard]] Expected<SdpaSupport> ask_support(const Library& library, const SdpaProblem& problem,
                                                const DeviceProperties& device);

/// Where a call's tensors lie on the device, and its scale.
struct SdpaMemory {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  void* output = nullptr;
  const void* bias = nullptr;
  const void* block_mask = nullptr;
  float scale = 1.0F;
};

/// Why there is no plan.
struct PlanFailure {
  std::string reason;    ///< with cuDNN's own words
  bool passing = false;  ///< memory or the driver failed: another time the same problem may be planned
};

/// An execution plan. Immutable; may be executed on any stream, by one thread at a time per handle.
class SdpaPlan {
 public:
  using Built = tl::expected<std::shared_ptr<const SdpaPlan>, PlanFailure>;

  /// The first configuration of the heuristics that builds. Loads its kernels: the GPU must be the thread's current
  /// one.
  [[nodiscard]] static Built build(const std::shared_ptr<const Library>& library, const SdpaProblem& problem,
                                   const DeviceProperties& device);

  [[nodiscard]] std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// cuDNN's number of the engine that serves.
  [[nodiscard]] std::int64_t engine() const noexcept { return engine_; }
  /// Queues the call on the handle's stream. `workspace` has workspace_bytes() and an alignment of 256.
  [[nodiscard]] Expected<void> execute(Handle handle, const SdpaMemory& memory, void* workspace) const;

 private:
  SdpaPlan(std::shared_ptr<const Library> library, SdpaGraph graph, const SdpaProblem& problem);

  std::shared_ptr<const Library> library_;  ///< outlives every descriptor below
  SdpaGraph graph_;
  Descriptor device_;
  Descriptor config_;
  Descriptor plan_;
  bool has_bias_;
  bool has_mask_;
  bool is_causal_;
  std::int64_t workspace_bytes_ = 0;
  std::int64_t engine_ = -1;
};

}  // namespace attn::cudnn
