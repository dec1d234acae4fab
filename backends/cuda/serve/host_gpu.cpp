// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/host_gpu.h"

#include "backends/cuda/kernels/host_kernels.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace attn::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

/// The device whose stream it is; a launch without a stream is done at once.
LaunchStatus on(void* stream, std::function<LaunchStatus()> work) {
  return stream == nullptr ? work() : static_cast<HostDeviceApi*>(stream)->launch(std::move(work));
}

LaunchStatus int8_on_host(const AttentionTask& task, const Int8Options& options, void* workspace, void* stream) {
  return on(stream, [=] { return host_int8_attention(task, options, workspace); });
}

LaunchStatus exact_on_host(const AttentionTask& task, void* workspace, void* stream) {
  return on(stream, [=] { return host_exact_attention(task, workspace); });
}

LaunchStatus selection_on_host(const SelectionTask& task, void* workspace, void* stream) {
  return on(stream, [=] { return host_selection(task, workspace); });
}

class HostGraph final : public DeviceGraph {
 public:
  explicit HostGraph(std::vector<std::function<LaunchStatus()>> work) : work_(std::move(work)) {}
  [[nodiscard]] Expected<void> launch(const Subject&) override {
    for (const auto& piece : work_) {
      if (const LaunchStatus done = piece(); !done.ok()) {
        return fail(std::string("launch of ") + done.kernel + ": code " + std::to_string(done.code));
      }
    }
    return {};
  }

 private:
  std::vector<std::function<LaunchStatus()>> work_;
};

/// The times of blocks that run one after the other on the host say nothing of a device: they are 0.
class HostMarks final : public DeviceMarks {
 public:
  [[nodiscard]] Expected<void> set(std::size_t) override { return {}; }
  [[nodiscard]] Expected<double> milliseconds(std::size_t, std::size_t) override { return 0.0; }
};

}  // namespace

LaunchStatus HostDeviceApi::launch(std::function<LaunchStatus()> work) {
  if (!recording_) return work();
  recorded_.push_back(std::move(work));
  return {};
}

Expected<void> HostDeviceApi::allowed(const char* what, const Subject& subject) const {
  if (!recording_) return {};
  return fail(std::string(what) + " of " + (subject ? subject() : std::string("the stream")) +
              ": not while the stream records");
}

Expected<std::unique_ptr<DeviceMarks>> HostDeviceApi::make_marks(std::size_t) { return std::make_unique<HostMarks>(); }

Expected<void> HostDeviceApi::begin_recording(const Subject& subject) {
  if (auto may = allowed("recording", subject); !may) return may;
  recording_ = true;
  return {};
}

Expected<std::unique_ptr<DeviceGraph>> HostDeviceApi::end_recording(const Subject&) {
  recording_ = false;
  return std::make_unique<HostGraph>(std::exchange(recorded_, {}));
}

Expected<void*> HostDeviceApi::allocate(std::int64_t bytes, const Subject& subject) {
  if (auto may = allowed("allocation", subject); !may) return fail(may.error());
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

Expected<void> HostDeviceApi::copy_in(void* to, const void* from, std::int64_t bytes, const Subject& subject) {
  if (auto may = allowed("copy", subject); !may) return may;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return {};
}

Expected<void> HostDeviceApi::copy_out(void* to, const void* from, std::int64_t bytes, const Subject& subject) {
  if (auto may = allowed("copy", subject); !may) return may;
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  return {};
}

Expected<void> HostDeviceApi::finish(const Subject& subject) { return allowed("waiting", subject); }
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
