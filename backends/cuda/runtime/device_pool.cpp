// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/device_pool.h"

#include <exception>
#include <utility>

namespace attn::cuda {
namespace {

// Whole steps of 2 MiB, as the driver hands memory out; small buffers in steps of 256 bytes.
constexpr std::int64_t kLargeStep = std::int64_t{2} << 20;
constexpr std::int64_t kSmallStep = 256;

std::int64_t rounded(std::int64_t bytes) noexcept {
  const std::int64_t step = bytes >= kLargeStep ? kLargeStep : kSmallStep;
  return (bytes + step - 1) / step * step;
}

}  // namespace

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  pool_ = std::exchange(other.pool_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void DeviceBuffer::reset() noexcept {
  if (data_ != nullptr) pool_->keep(data_, capacity_);
  pool_ = nullptr;
  data_ = nullptr;
  capacity_ = 0;
}

Expected<DeviceBuffer> DevicePool::get(std::int64_t bytes, const Subject& subject) {
  if (bytes <= 0) return DeviceBuffer();
  const std::int64_t capacity = rounded(bytes);
  // A kept buffer serves when at most a quarter of it would lie idle.
  if (const auto found = kept_.lower_bound(capacity);
      found != kept_.end() && found->first - capacity <= found->first / 4) {
    DeviceBuffer buffer(*this, found->second, found->first);
    kept_bytes_ -= found->first;
    kept_.erase(found);
    return buffer;
  }
  Expected<void*> memory = device_.allocate(capacity, subject);
  if (!memory && !kept_.empty()) {
    trim(0);
    memory = device_.allocate(capacity, subject);
  }
  if (!memory) return fail(memory.error());
  return DeviceBuffer(*this, *memory, capacity);
}

void DevicePool::keep(void* data, std::int64_t capacity) noexcept {
  if (capacity > bound_) {
    device_.release(data);
    return;
  }
  trim(bound_ - capacity);
  try {
    kept_.emplace(capacity, data);
    kept_bytes_ += capacity;
  } catch (const std::exception&) {
    device_.release(data);
  }
}

void DevicePool::trim(std::int64_t bytes) noexcept {
  while (kept_bytes_ > bytes) {
    const auto largest = std::prev(kept_.end());
    kept_bytes_ -= largest->first;
    device_.release(largest->second);
    kept_.erase(largest);
  }
}

}  // namespace attn::cuda
