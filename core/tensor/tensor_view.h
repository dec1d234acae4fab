// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/device.h"
#include "core/tensor/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace attn {

/// Shape, strides and, where it has any, the data of a tensor. Never owns. A view without data is a legal
/// input to everything that routes, explains or counts; only a kernel's run() needs data.
///
/// Attention tensors follow `(batch, heads, tokens, head_dim)`; ranks 2 to 5 are legal calls, and a view may
/// hold any rank from 0 to 5. Strides are in elements and may be any number, 0 included (expanded).
struct TensorView {
  static constexpr int kMaxRank = 5;
  using Dims = std::array<std::int64_t, kMaxRank>;

  Dims shape{};
  Dims stride{};
  std::uint8_t rank = 0;
  DType dtype = DType::bfloat16;
  Device device{};
  void* data = nullptr;

  [[nodiscard]] bool has_data() const noexcept { return data != nullptr; }

  /// Size of dimension `i`; negative counts from the last (-1 is head_dim). 1 where the rank has no such dim.
  [[nodiscard]] std::int64_t size(int i) const noexcept {
    const int at = i < 0 ? rank + i : i;
    return at >= 0 && at < rank ? shape[static_cast<std::size_t>(at)] : 1;
  }
  /// Stride of dimension `i`, counted as in size(). 0 where the rank has no such dim.
  [[nodiscard]] std::int64_t step(int i) const noexcept {
    const int at = i < 0 ? rank + i : i;
    return at >= 0 && at < rank ? stride[static_cast<std::size_t>(at)] : 0;
  }

  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept { return {shape.data(), rank}; }
  [[nodiscard]] std::span<const std::int64_t> strides() const noexcept { return {stride.data(), rank}; }

  [[nodiscard]] std::int64_t elements() const noexcept;
  /// Bytes that a contiguous copy would take.
  [[nodiscard]] std::int64_t bytes() const noexcept { return elements() * static_cast<std::int64_t>(size_of(dtype)); }
  /// torch's rule: dims of size 1 do not matter and an empty tensor is contiguous.
  [[nodiscard]] bool is_contiguous() const noexcept;
  /// Largest element offset that a walk over the view reaches (negative strides counted by magnitude);
  /// 0 for an empty view. A kernel with 32-bit offsets needs this below 2^31.
  [[nodiscard]] std::int64_t offset_reach() const noexcept;

  /// A contiguous view without data.
  [[nodiscard]] static TensorView contiguous(std::span<const std::int64_t> shape, DType dtype,
                                             Device device = Device::accel()) noexcept;
  [[nodiscard]] static TensorView contiguous(std::initializer_list<std::int64_t> shape, DType dtype,
                                             Device device = Device::accel()) noexcept {
    return contiguous(std::span<const std::int64_t>(shape.begin(), shape.size()), dtype, device);
  }

  /// The same elements of the same memory.
  friend bool operator==(const TensorView&, const TensorView&) = default;
};

/// How a tensor's bytes lie, as people speak of it.
enum class Layout : std::uint8_t {
  contiguous,  ///< torch's is_contiguous()
  transposed,  ///< heads and tokens swapped in memory: a (batch, tokens, heads, head_dim) tensor seen transposed
  fused_qkv,   ///< as transposed, out of a projection that holds q, k and v side by side
  expanded,    ///< a dimension with stride 0
  strided,     ///< anything else
};

[[nodiscard]] Layout layout_of(const TensorView& view) noexcept;
/// "contiguous", "transposed", "fused-qkv", "expanded", "strided".
[[nodiscard]] std::string_view name_of(Layout layout) noexcept;

/// "[1, 24, 4608, 128]", as the trace prints a shape.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> sizes);

}  // namespace attn
