// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_pool.h"

#include <cstdint>

namespace attn::cuda {

/// The denoiser's step in device memory: kernels read it when they run, so that a captured step can be launched again
/// for another one. Move only; the pool must outlive it.
class StepCell {
 public:
  [[nodiscard]] static Expected<StepCell> create(DevicePool& pool) {
    Expected<DeviceBuffer> buffer = pool.get(sizeof(std::int32_t), [] { return std::string("the step cell"); });
    if (!buffer) return fail(buffer.error());
    StepCell cell;
    cell.buffer_ = std::move(*buffer);
    return cell;
  }

  /// Queued behind what was launched before. The value is copied out of `step` by the time finish() returns, so it must
  /// stay where it is until then.
  [[nodiscard]] Expected<void> set(DeviceApi& device, const std::int32_t& step) const {
    return device.copy_in(buffer_.data(), &step, sizeof step, [] { return std::string("the step cell"); });
  }

  [[nodiscard]] const int* device_address() const noexcept { return static_cast<const int*>(buffer_.data()); }

 private:
  DeviceBuffer buffer_;
};

}  // namespace attn::cuda
