// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/tensor_view.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace attn {

/// Owned host memory, aligned to 64 bytes, zeroed unless asked otherwise. Move only.
class HostBuffer {
 public:
  HostBuffer() = default;
  explicit HostBuffer(std::size_t bytes) : HostBuffer(unset(bytes)) {
    if (bytes != 0) std::memset(memory_.get(), 0, bytes);
  }
  /// Memory whose contents do not matter: what is never touched costs no page.
  [[nodiscard]] static HostBuffer unset(std::size_t bytes) {
    HostBuffer buffer;
    buffer.bytes_ = bytes;
    if (bytes != 0) {
      buffer.memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kAlignment})));
    }
    return buffer;
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::byte* data() noexcept { return memory_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return memory_.get(); }
  template <class T>
  [[nodiscard]] T* as() noexcept {
    return reinterpret_cast<T*>(memory_.get());
  }
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return reinterpret_cast<const T*>(memory_.get());
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
};

/// A contiguous tensor with its memory. `view()` stays valid while the tensor lives, also after a move.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(std::span<const std::int64_t> shape, DType dtype, Device device = Device::accel())
      : view_(TensorView::contiguous(shape, dtype, device)), memory_(static_cast<std::size_t>(view_.bytes())) {
    view_.data = memory_.data();
  }
  HostTensor(std::initializer_list<std::int64_t> shape, DType dtype, Device device = Device::accel())
      : HostTensor(std::span<const std::int64_t>(shape.begin(), shape.size()), dtype, device) {}

  [[nodiscard]] const TensorView& view() const noexcept { return view_; }
  [[nodiscard]] HostBuffer& memory() noexcept { return memory_; }
  template <class T>
  [[nodiscard]] T* as() noexcept {
    return memory_.as<T>();
  }
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return memory_.as<T>();
  }

 private:
  TensorView view_;
  HostBuffer memory_;
};

/// Element access with conversion, for code where clarity matters and speed does not. `offset` in elements.
[[nodiscard]] float load_element(const TensorView& view, std::int64_t offset) noexcept;
void store_element(const TensorView& view, std::int64_t offset, float value) noexcept;

}  // namespace attn
