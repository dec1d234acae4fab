// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_api.h"

#include <utility>

namespace attn::cuda {

/// Pinned host memory, freed with its owner. Move only; the device must outlive it.
class PinnedBuffer {
 public:
  [[nodiscard]] static Expected<PinnedBuffer> create(DeviceApi& device, std::int64_t bytes, const Subject& subject) {
    const Expected<void*> memory = device.allocate_pinned(bytes, subject);
    if (!memory) return fail(memory.error());
    PinnedBuffer buffer;
    buffer.device_ = &device;
    buffer.data_ = *memory;
    return buffer;
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) device_->release_pinned(data_);
  }
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  PinnedBuffer() = default;
  DeviceApi* device_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace attn::cuda
