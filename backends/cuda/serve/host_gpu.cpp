// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/host_gpu.h"

#include "backends/cuda/kernels/host_kernels.h"

#include <cstdlib>
#include <cstring>

namespace attn::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

LaunchStatus int8_on_host(const AttentionTask& task, const Int8Options& options, void* workspace, void*) {
  return host_int8_attention(task, options, workspace);
}

LaunchStatus exact_on_host(const AttentionTask& task, void* workspace, void*) {
  return host_exact_attention(task, workspace);
}

LaunchStatus selection_on_host(const SelectionTask& task, void* workspace, void*) {
  return host_selection(task, workspace);
}

}  // namespace

Expected<void*> HostDeviceApi::allocate(std::int64_t bytes, const Subject& subject) {
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, size);
  if (memory == nullptr) return fail("the host ran out of memory for " + subject() + ", " + bytes_text(bytes));
  std::memset(memory, 0xFF, size);  // what a kernel reads without having written it shows
  return memory;
}

void HostDeviceApi::release(void* memory) noexcept { std::free(memory); }

Expected<void*> HostDeviceApi::allocate_pinned(std::int64_t bytes, const Subject& subject) {
  return HostDeviceApi::allocate(bytes, subject);
}

void HostDeviceApi::release_pinned(void* memory) noexcept { std::free(memory); }

Expected<void> HostDeviceApi::copy_in(void* to, const void* from, std::int64_t bytes, const Subject&) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return {};
}

Expected<void> HostDeviceApi::copy_out(void* to, const void* from, std::int64_t bytes, const Subject&) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return {};
}

Expected<void> HostDeviceApi::finish(const Subject&) { return {}; }
Expected<void> HostDeviceApi::mark_begin() { return {}; }
Expected<void> HostDeviceApi::mark_end() { return {}; }
Expected<double> HostDeviceApi::milliseconds() { return 0.0; }
Expected<void> HostDeviceApi::make_current() { return {}; }

std::string HostDeviceApi::launch_error(const char* kernel, int code) const {
  return std::string("launch of ") + kernel + ": code " + std::to_string(code);
}

const LaunchTable& host_launches() noexcept {
  static constexpr LaunchTable kOnHost{int8_on_host, exact_on_host, selection_on_host};
  return kOnHost;
}

std::shared_ptr<LocalGpu> host_gpu() {
  CudaDevice info;
  info.name = "this host, block by block";
  info.supported = true;
  return std::make_shared<LocalGpu>(std::move(info), std::make_unique<HostDeviceApi>(), std::int64_t{1} << 28);
}

}  // namespace attn::cuda
