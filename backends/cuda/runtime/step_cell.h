// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_pool.h"
#include "backends/cuda/runtime/pinned_buffer.h"

#include <cstdint>
#include <utility>

namespace attn::cuda {

/// The denoiser's step in device memory: kernels read it when they run, so that a captured step can be launched again
/// for another one. Move only; the pool and its device must outlive it.
class StepCell {
 public:
  [[nodiscard]] static Expected<StepCell> create(DeviceApi& device, DevicePool& pool) {
    const Subject subject = [] { return std::string("the step cell"); };
    Expected<DeviceBuffer> buffer = pool.get(sizeof(std::int32_t), subject);
    if (!buffer) return fail(buffer.error());
    Expected<PinnedBuffer> value = PinnedBuffer::create(device, sizeof(std::int32_t), subject);
    if (!value) return fail(value.error());
    return StepCell(std::move(*buffer), std::move(*value));
  }

  /// Queued behind what was launched before, without waiting. The copy of an earlier set() must have gone.
  [[nodiscard]] Expected<void> set(DeviceApi& device, std::int32_t step) {
    *static_cast<std::int32_t*>(value_.data()) = step;
    return device.copy_in(buffer_.data(), value_.data(), sizeof step, [] { return std::string("the step cell"); });
  }

  [[nodiscard]] const int* device_address() const noexcept { return static_cast<const int*>(buffer_.data()); }

 private:
  StepCell(DeviceBuffer buffer, PinnedBuffer value) : buffer_(std::move(buffer)), value_(std::move(value)) {}

  DeviceBuffer buffer_;
  PinnedBuffer value_;  ///< what the copy is made from
};

}  // namespace attn::cuda
