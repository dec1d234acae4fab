// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/device_pool.h"
#include "core/tensor/host_buffer.h"
#include "core/tensor/tensor_view.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace attn::cuda {

/// A tensor in device memory: `view` has device addresses.
struct DeviceCopy {
  DeviceBuffer buffer;
  TensorView view;
};

/// Moves tensors between host views of any strides and device memory.
class Transfer {
 public:
  Transfer(DeviceApi& device, DevicePool& pool) : device_(device), pool_(pool) {}

  /// Queues a copy of `view`, whose name is for errors. Where the memory that it spans is hardly more than its
  /// elements, that memory goes as it lies and the strides stay; else, and where rows would not start at multiples of
  /// 16 bytes or the leading dims of rank 5 do not fold, a packed copy goes. An expanded dim stays expanded.
  [[nodiscard]] Expected<DeviceCopy> upload(const TensorView& view, std::string_view name);
  /// Device memory with a copy of `values`, which may be gone at once.
  template <class T>
  [[nodiscard]] Expected<DeviceBuffer> send(std::span<const T> values, const Subject& subject) {
    return send_bytes(std::as_bytes(values), subject);
  }
  /// Packed device memory with the shape of `view` and dtype `dtype`, not set.
  [[nodiscard]] Expected<DeviceCopy> make(const TensorView& view, DType dtype, std::string_view name);
  /// Queues a copy of packed device memory into `view`, of the same dtype; complete after finish().
  [[nodiscard]] Expected<void> download(const DeviceCopy& from, const TensorView& view, std::string_view name);
  /// Waits, then scatters what download() had to stage. The staging memory of uploads is free again.
  [[nodiscard]] Expected<void> finish(std::string_view name);

 private:
  [[nodiscard]] Expected<DeviceBuffer> send_bytes(std::span<const std::byte> bytes, const Subject& subject);
  struct Scatter {
    HostBuffer packed;
    TensorView to;
  };
  DeviceApi& device_;
  DevicePool& pool_;
  std::vector<HostBuffer> staged_;  ///< sources of copies that may still run
  std::vector<Scatter> scatters_;
};

/// Shape, strides and dtype that upload() leaves a view in; no data.
[[nodiscard]] TensorView view_after_upload(const TensorView& view);

/// Elements of `view` in the order of its dims, packed.
void pack(const TensorView& view, void* to);
/// The reverse: packed elements into `view`.
void scatter(const void* from, const TensorView& view);

/// "key (1, 24, 4608, 128)"
[[nodiscard]] std::string subject_text(std::string_view name, const TensorView& view);

}  // namespace attn::cuda
