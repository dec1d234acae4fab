// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/launch_table.h"
#include "backends/cuda/serve/local_gpu.h"

#include <memory>

namespace attn::cuda {

/// Device memory that is host memory. Its stream does everything at once.
class HostDeviceApi : public DeviceApi {
 public:
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
  [[nodiscard]] void* stream() const noexcept override { return nullptr; }
};

/// The kernels' own source, every block and thread in order on the host: for checks without a GPU, thousands of times
/// slower than one.
[[nodiscard]] const LaunchTable& host_launches() noexcept;

/// A stand-in for a GPU, to be used with host_launches().
[[nodiscard]] std::shared_ptr<LocalGpu> host_gpu();

}  // namespace attn::cuda
