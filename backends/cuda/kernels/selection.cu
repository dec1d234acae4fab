// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/kernels/device_launcher.h"
#include "backends/cuda/kernels/selection_plan.h"

namespace attn::cuda {

LaunchStatus launch_selection(const SelectionTask& task, void* workspace, void* stream) {
  DeviceLauncher launcher{static_cast<cudaStream_t>(stream)};
  return select_on(launcher, task, workspace);
}

LaunchStatus launch_list_tiles(const std::uint8_t* keep, int list_heads, const TileLists& lists, void* stream) {
  DeviceLauncher launcher{static_cast<cudaStream_t>(stream)};
  return list_on(launcher, keep, list_heads, lists);
}

}  // namespace attn::cuda
