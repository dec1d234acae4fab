// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_api.h"

#include <cstdint>
#include <map>

namespace attn::cuda {

class DevicePool;

/// Device memory that goes back to its pool with its owner. Move only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = static_cast<DeviceBuffer&&>(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { reset(); }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
  void reset() noexcept;

 private:
  friend class DevicePool;
  DeviceBuffer(DevicePool& pool, void* data, std::int64_t capacity) : pool_(&pool), data_(data), capacity_(capacity) {}

  DevicePool* pool_ = nullptr;
  void* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

/// Keeps freed device memory for the next call, at most `bound` bytes of it: allocating is slow and waits for the
/// device. All use is on one stream, so memory may be handed on before the work that reads it has ended. Not thread
/// safe, as the device. Must outlive its buffers.
class DevicePool {
 public:
  DevicePool(DeviceApi& device, std::int64_t bound) : device_(device), bound_(bound) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;
  ~DevicePool() { trim(0); }

  /// At least `bytes` (0 gives an empty buffer). Where the device has no more, what is kept is given back first.
  [[nodiscard]] Expected<DeviceBuffer> get(std::int64_t bytes, const Subject& subject);
  /// Gives kept memory back until at most `bytes` are left.
  void trim(std::int64_t bytes) noexcept;
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  friend class DeviceBuffer;
  void keep(void* data, std::int64_t capacity) noexcept;

  DeviceApi& device_;
  const std::int64_t bound_;
  std::multimap<std::int64_t, void*> kept_;  ///< by capacity
  std::int64_t kept_bytes_ = 0;
};

}  // namespace attn::cuda
