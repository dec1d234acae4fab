// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/device_kernel.h"
#include "backends/cuda/serve/host_gpu.h"
#include "backends/cuda/serve/own_compute.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace attn::test {

/// A GPU of host memory: everything that is not the GPU itself is real. `fail_at` makes the n-th use of a call fail.
class HostDevice final : public cuda::HostDeviceApi {
 public:
  std::map<std::string, int> used;     ///< by call
  std::map<std::string, int> fail_at;  ///< by call: which use fails, from 1
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t read_back_bytes = 0;
  double kernel_milliseconds = 0.0;  ///< that the kernels of a call are said to take
  std::int64_t limit_bytes = std::int64_t{1} << 40;

  Expected<void*> allocate(std::int64_t bytes, const cuda::Subject& subject) override {
    if (auto failed = use("cudaMalloc", subject); !failed) return fail(failed.error());
    if (live_bytes + bytes > limit_bytes) {
      return fail("cudaMalloc of " + subject() + ": out of memory, " + cuda::bytes_text(bytes) + " wanted, " +
                  cuda::bytes_text(limit_bytes - live_bytes) + " free");
    }
    Expected<void*> memory = HostDeviceApi::allocate(bytes, subject);
    if (memory) sizes_[*memory] = bytes;
    live_bytes += bytes;
    peak_bytes = std::max(peak_bytes, live_bytes);
    return memory;
  }
  void release(void* memory) noexcept override {
    live_bytes -= sizes_[memory];
    sizes_.erase(memory);
    HostDeviceApi::release(memory);
  }
  Expected<void*> allocate_pinned(std::int64_t bytes, const cuda::Subject& subject) override {
    return allocate(bytes, subject);
  }
  void release_pinned(void* memory) noexcept override { release(memory); }
  Expected<void> copy_in(void* to, const void* from, std::int64_t bytes, const cuda::Subject& subject) override {
    return copy(to, from, bytes, subject);
  }
  Expected<void> copy_out(void* to, const void* from, std::int64_t bytes, const cuda::Subject& subject) override {
    read_back_bytes += bytes;
    return copy(to, from, bytes, subject);
  }
  Expected<double> milliseconds() override { return kernel_milliseconds; }
  Expected<void> begin_recording(const cuda::Subject& subject) override {
    if (auto may = use("cudaStreamBeginCapture", subject); !may) return may;
    return HostDeviceApi::begin_recording(subject);
  }
  Expected<std::unique_ptr<cuda::DeviceGraph>> end_recording(const cuda::Subject& subject) override {
    auto graph = HostDeviceApi::end_recording(subject);
    if (auto may = use("cudaGraphInstantiate", subject); !may) return fail(may.error());
    return std::make_unique<WatchedGraph>(*this, std::move(*graph));
  }
  Expected<void> finish(const cuda::Subject& subject) override { return use("cudaStreamSynchronize", subject); }
  Expected<void> make_current() override { return use("cudaSetDevice", {}); }

 private:
  class WatchedGraph final : public cuda::DeviceGraph {
   public:
    WatchedGraph(HostDevice& device, std::unique_ptr<cuda::DeviceGraph> graph)
        : device_(device), graph_(std::move(graph)) {}
    Expected<void> launch(const cuda::Subject& subject) override {
      if (auto may = device_.use("cudaGraphLaunch", subject); !may) return may;
      return graph_->launch(subject);
    }

   private:
    HostDevice& device_;
    std::unique_ptr<cuda::DeviceGraph> graph_;
  };

  Expected<void> copy(void* to, const void* from, std::int64_t bytes, const cuda::Subject& subject) {
    if (auto used_up = use("cudaMemcpyAsync", subject); !used_up) return used_up;
    return HostDeviceApi::copy_in(to, from, bytes, subject);
  }
  Expected<void> use(const std::string& call, const cuda::Subject& subject) {
    const int count = ++used[call];
    const auto planned = fail_at.find(call);
    if (planned == fail_at.end() || planned->second != count) return {};
    return fail(call + (subject ? " of " + subject() : "") + ": unspecified launch failure");
  }

  std::map<void*, std::int64_t> sizes_;
};

using cuda::host_launches;

/// Launches that fail as a device does.
inline const cuda::LaunchTable& failing_launches() {
  static const cuda::LaunchTable kTable{[](const cuda::AttentionTask&, const cuda::Int8Options&, void*, void*) {
                                          return cuda::LaunchStatus{701, "int8 attention 128"};
                                        },
                                        [](const cuda::AttentionTask&, void*, void*) {
                                          return cuda::LaunchStatus{701, "exact attention 128"};
                                        }};
  return kTable;
}

struct HostGpu {
  HostDevice* device;  ///< owned by gpu
  std::shared_ptr<cuda::LocalGpu> gpu;

  explicit HostGpu(std::int64_t pool_bound = std::int64_t{1} << 30) {
    auto made = std::make_unique<HostDevice>();
    device = made.get();
    cuda::CudaDevice info;
    info.name = "a GPU of host memory";
    info.capability = 90;
    info.supported = true;
    gpu = std::make_shared<cuda::LocalGpu>(info, std::move(made), pool_bound);
  }
};

}  // namespace attn::test
