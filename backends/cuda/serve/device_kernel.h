// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/device_compute.h"
#include "core/registry/kernel.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn::cuda {

/// What becomes of a call whose GPU failed while computing it.
enum class OnFailure : std::uint8_t {
  decline,  ///< the kernel says so and the router asks the next entry
  host,     ///< the host computes it: nobody stands below
};

/// A backend's kernel on a GPU: the first of `computes` that takes a call computes it there; a call that none takes is
/// computed by the backend's host kernel, whose names it keeps. The call's data is in host memory.
class DeviceKernel final : public attn::AttentionKernel {
 public:
  DeviceKernel(std::shared_ptr<const attn::AttentionKernel> host, std::shared_ptr<LocalGpu> gpu,
               DeviceComputes computes, OnFailure on_failure)
      : host_(std::move(host)), gpu_(std::move(gpu)), computes_(std::move(computes)), on_failure_(on_failure) {}

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override;
  [[nodiscard]] KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override {
    return host_->route(call, selection);
  }
  /// The host kernel's forecast, with what each way to compute it on the GPU says.
  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override;
  void ask(const AttentionCall& call, const BlockSelection* selection) const override {
    (void)compute_for(call, selection);
  }
  [[nodiscard]] bool chooses_tiles(const AttentionCall& call, const BlockSelection& selection) const override;
  [[nodiscard]] const StepRecorder* recorder() const noexcept override { return gpu_->recorder.get(); }

  [[nodiscard]] const std::shared_ptr<LocalGpu>& gpu() const noexcept { return gpu_; }
  /// What computes a call on the GPU. Error: that the host does, and why.
  [[nodiscard]] Expected<const DeviceCompute*> compute_of(const AttentionCall& call,
                                                          const BlockSelection* selection) const;

 private:
  [[nodiscard]] KernelResult run_on_host(const AttentionCall& call, const BlockSelection* selection) const;
  [[nodiscard]] const DeviceCompute* compute_for(const AttentionCall& call, const BlockSelection* selection) const;

  std::shared_ptr<const attn::AttentionKernel> host_;
  std::shared_ptr<LocalGpu> gpu_;
  DeviceComputes computes_;
  OnFailure on_failure_;
};

/// The sentence as one that lives as long as the program, for KernelResult. At most 256 different ones are kept; what
/// comes later is "the GPU failed".
[[nodiscard]] std::string_view kept_sentence(const std::string& sentence);

}  // namespace attn::cuda
