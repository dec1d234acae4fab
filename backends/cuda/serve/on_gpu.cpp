// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/on_gpu.h"

#include "backends/cudnn/cudnn_compute.h"

#include <utility>

namespace attn::cuda {
namespace {

std::shared_ptr<LocalGpu> gpu_of(const Target& target) {
  if (!target.device) return nullptr;
  const auto gpu = local_gpu(*target.device);
  return gpu ? *gpu : nullptr;
}

}  // namespace

std::shared_ptr<const attn::AttentionKernel> exact_on_gpu(const Target& target,
                                                          std::shared_ptr<const attn::AttentionKernel> host,
                                                          OnFailure on_failure) {
  std::shared_ptr<LocalGpu> gpu = gpu_of(target);
  if (!gpu) return host;
  DeviceComputes computes;
  {
    const std::lock_guard lock(gpu->mutex);
    // One for all backends and every rebuild: its plans take their time.
    if (!gpu->library) gpu->library = cudnn::cudnn_compute(gpu->info);
    computes.push_back(gpu->library);
  }
  if (const LaunchTable* launches = built_launches()) computes.push_back(own_exact_compute(*launches));
  return std::make_shared<DeviceKernel>(std::move(host), std::move(gpu), std::move(computes), on_failure);
}

std::shared_ptr<const attn::AttentionKernel> int8_on_gpu(const Target& target,
                                                         std::shared_ptr<const attn::AttentionKernel> host,
                                                         Int8OptionsFor options) {
  std::shared_ptr<LocalGpu> gpu = gpu_of(target);
  const LaunchTable* launches = built_launches();
  if (!gpu || launches == nullptr) return host;
  DeviceComputes computes;
  computes.push_back(own_int8_compute(*launches, std::move(options)));
  return std::make_shared<DeviceKernel>(std::move(host), std::move(gpu), std::move(computes), OnFailure::decline);
}

}  // namespace attn::cuda
