// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/local_gpu.h"

#include "backends/cuda/serve/gpu_step.h"

#include <map>

namespace attn::cuda {
namespace {

constexpr std::int64_t kPoolShare = 8;

Expected<std::shared_ptr<LocalGpu>> open(int index) {
  const Discovery& machine = this_machine();
  if (machine.state != CudaState::ready) return fail(machine.sentence);
  for (const CudaDevice& device : machine.devices) {
    if (device.index != index) continue;
    if (!device.supported) return fail("this program has no kernels for " + device.name);
    auto api = open_device(index);
    if (!api) return fail(api.error());
    return std::make_shared<LocalGpu>(device, std::move(*api), device.memory_bytes / kPoolShare);
  }
  return fail("this machine has no GPU number " + std::to_string(index));
}

}  // namespace

LocalGpu::LocalGpu(CudaDevice which, std::unique_ptr<DeviceApi> opened, std::int64_t pool_bound)
    : info(std::move(which)),
      api(std::move(opened)),
      pool(*api, pool_bound),
      recorder(std::make_unique<GpuStepRecorder>()) {}

Expected<std::shared_ptr<LocalGpu>> local_gpu(int index) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<LocalGpu>> opened;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<LocalGpu> here = opened[index].lock()) return here;
  auto gpu = open(index);
  if (gpu) opened[index] = *gpu;
  return gpu;
}

}  // namespace attn::cuda
