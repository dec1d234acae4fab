// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/launch_table.h"
#include "backends/cuda/serve/local_gpu.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <memory>

namespace attn::app {

/// Records a small denoiser step of exact, INT8 and sparse calls on `gpu` and runs it for two steps with different
/// budgets. The value counts output elements that are not, bit for bit, what the calls give one by one. Takes the GPU's
/// lock. Error: what failed.
[[nodiscard]] Expected<std::int64_t> check_step(const std::shared_ptr<cuda::LocalGpu>& gpu,
                                                const cuda::LaunchTable& launches);

/// What a step of `calls` equal calls of FLUX's shape took, recorded, by the host's clock: the median of five.
struct StepTime {
  double milliseconds = 0.0;  ///< of the whole step, with its output brought back
  double on_device = 0.0;     ///< of its kernels alone
  double floating_operations = 0.0;
};
[[nodiscard]] Expected<StepTime> time_step(const std::shared_ptr<cuda::LocalGpu>& gpu,
                                           const cuda::LaunchTable& launches, std::size_t calls);

}  // namespace attn::app
