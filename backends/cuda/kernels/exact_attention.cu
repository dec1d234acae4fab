// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/kernels/attention_plan.h"
#include "backends/cuda/kernels/device_launcher.h"

namespace attn::cuda {

LaunchStatus launch_exact_attention(const AttentionTask& task, void* workspace, void* stream) {
  DeviceLauncher launcher{static_cast<cudaStream_t>(stream)};
  return AttentionLaunches<DeviceLauncher>(launcher, task).exact(workspace);
}

}  // namespace attn::cuda
