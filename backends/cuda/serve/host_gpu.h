// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/launch_table.h"
#include "backends/cuda/serve/local_gpu.h"

#include <functional>
#include <memory>
#include <vector>

namespace attn::cuda {

/// Device memory that is host memory. Its stream does everything at once, or, while it records, keeps it; what a device
/// could not record is an error then.
class HostDeviceApi : public DeviceApi {
 public:
  /// Does a piece of work, or keeps it while the stream records. For the launches of host_launches().
  LaunchStatus launch(std::function<LaunchStatus()> work);
  [[nodiscard]] Expected<void*> allocate(std::int64_t bytes, const Subject& subject) override;
  void release(void* memory) noexcept override;
  [[nodiscard]] Expected<void*> allocate_pinned(std::int64_t bytes, const Subject& subject) override;
  void release_pinned(void* memory) noexcept override;
  [[nodiscard]] Expected<void> copy_in(void* to, const void* from, std::int64_t bytes, const Subject& subject) override;
  [[nodiscard]] Expected<void> copy_out(void* to, const void* from, std::int64_t bytes,
                                        const Subject& subject) override;
  [[nodiscard]] Expected<void> finish(const Subject& subject) override;
  [[nodiscard]] Expected<void> mark_begin() override;
  [[nodiscard]] Expected<void> mark_end() override;
  [[nodiscard]] Expected<double> milliseconds() override;
  [[nodiscard]] Expected<void> make_current() override;
  [[nodiscard]] std::string launch_error(const char* kernel, int code) const override;
  [[nodiscard]] Expected<std::unique_ptr<DeviceMarks>> make_marks(std::size_t count) override;
  [[nodiscard]] Expected<void> begin_recording(const Subject& subject) override;
  [[nodiscard]] Expected<std::unique_ptr<DeviceGraph>> end_recording(const Subject& subject) override;
  /// This device: the stream of its launches.
  [[nodiscard]] void* stream() const noexcept override { return const_cast<HostDeviceApi*>(this); }

 private:
  [[nodiscard]] Expected<void> allowed(const char* what, const Subject& subject) const;

  bool recording_ = false;
  std::vector<std::function<LaunchStatus()>> recorded_;
};

/// The kernels' own source, every block and thread in order on the host: for checks without a GPU, thousands of times
/// slower than one.
[[nodiscard]] const LaunchTable& host_launches() noexcept;

/// A stand-in for a GPU, to be used with host_launches().
[[nodiscard]] std::shared_ptr<LocalGpu> host_gpu();

}  // namespace attn::cuda
