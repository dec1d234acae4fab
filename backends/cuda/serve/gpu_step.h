// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/recorded_step.h"

namespace attn::cuda {

/// Records denoiser steps on the GPU that the calls' kernels, which are DeviceKernels of one GPU, were prepared for: a
/// CUDA graph. Tensors stay in device memory for as long as the recorded step lives: those of each distinct call once,
/// with one workspace each. Takes the GPU's lock.
class GpuStepRecorder final : public StepRecorder {
 public:
  [[nodiscard]] Expected<std::unique_ptr<RecordedStep>> record(std::span<const StepCall> calls,
                                                               std::span<const float> budgets) const override;
};

}  // namespace attn::cuda
