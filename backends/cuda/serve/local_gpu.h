// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_pool.h"
#include "backends/cuda/runtime/discovery.h"
#include "backends/cuda/serve/tile_marks_cache.h"
#include "core/registry/recorded_step.h"

#include <memory>
#include <mutex>

namespace attn::cuda {

class DeviceCompute;

/// A GPU of this machine in use: its stream, its memory, and the lock that its users take. Lives as long as a kernel
/// that was prepared for it.
struct LocalGpu {
  LocalGpu(CudaDevice which, std::unique_ptr<DeviceApi> opened, std::int64_t pool_bound);

  CudaDevice info;
  std::unique_ptr<DeviceApi> api;
  DevicePool pool;
  TileMarksCache marks;
  std::unique_ptr<const StepRecorder> recorder;  ///< of the kernels that were prepared for this GPU
  std::mutex mutex;
  std::shared_ptr<const DeviceCompute> library;  ///< cuDNN, once a backend wants it; holds a handle of this GPU
  double milliseconds = 0.0;                     ///< of the last call's kernels on the device, without the transfers
};

/// GPU `index` of this machine, opened once and shared. Its pool keeps an eighth of its memory at most. The error is
/// this machine's state, or the call that failed.
[[nodiscard]] Expected<std::shared_ptr<LocalGpu>> local_gpu(int index);

}  // namespace attn::cuda
