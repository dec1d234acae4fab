// SPDX-License-Identifier: GPL-3.0-or-later
// Launches kernels on the device. Only for the device compiler.
#pragma once

#include "backends/cuda/grid/device_block.h"
#include "backends/cuda/grid/grid_size.h"
#include "backends/cuda/kernels/kernels.h"

#include <cuda_runtime.h>

namespace attn::cuda {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocks)
    run_kernel(const __grid_constant__ typename Kernel::Params params) {
  DeviceBlock block;
  Kernel::run(block, params);
}

struct DeviceLauncher {
  cudaStream_t stream;

  template <class Kernel>
  LaunchStatus launch(const typename Kernel::Params& params, GridSize grid) {
    constexpr std::size_t kWithoutAsking = 48 * 1024;
    const std::size_t shared = Kernel::shared_bytes(params);
    if (shared > kWithoutAsking) {
      // The most that the kernel ever takes: a later, smaller wish would lower what a recorded launch needs.
      const cudaError_t granted = cudaFuncSetAttribute(run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(Kernel::kMostSharedBytes));
      if (granted != cudaSuccess) return failed(granted, Kernel::kName);
    }
    const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
    run_kernel<Kernel><<<blocks, Kernel::kThreads, shared, stream>>>(params);
    const cudaError_t launched = cudaGetLastError();
    return launched == cudaSuccess ? LaunchStatus{} : failed(launched, Kernel::kName);
  }

 private:
  static LaunchStatus failed(cudaError_t error, const char* kernel) {
    (void)cudaGetLastError();  // the next launch asks for its own
    return {static_cast<int>(error), kernel};
  }
};

}  // namespace attn::cuda
