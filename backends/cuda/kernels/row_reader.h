// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/arithmetic/numbers.h"
#include "backends/cuda/kernels/tasks.h"

namespace attn::cuda {

inline constexpr int kChunk = 8;  ///< channels that a thread reads at once

/// The words of a 16-byte access.
struct alignas(16) Words {
  std::uint32_t w[4];
};

/// Rows of a tensor, 8 channels at a time, as floats.
struct RowReader {
  DeviceTensor from;
  int tokens = 0;
  int channels = 0;
  bool whole_chunks = false;  ///< 16-bit elements, 16-byte aligned: one access a chunk

  /// Whether every chunk of a tensor can be read in one access.
  [[nodiscard]] static bool reads_whole(const DeviceTensor& tensor, int channels) noexcept {
    const bool narrow = tensor.dtype == DType::float16 || tensor.dtype == DType::bfloat16;
    bool aligned = narrow && tensor.stride[3] == 1 && channels % kChunk == 0 &&
                   reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
    for (int i = 0; i < 3; ++i) aligned = aligned && tensor.stride[i] % kChunk == 0;
    return aligned;
  }

  /// Channels 8 * chunk.. of a token; zeros where the tensor has none.
  ATTN_KERNEL void read(int batch, int head, int token, int chunk, float* out) const {
    const int first = chunk * kChunk;
    const std::int64_t row = batch * from.stride[0] + head * from.stride[1] + token * from.stride[2];
    if (token < tokens && whole_chunks && first < channels) {
      const auto* data = static_cast<const std::uint16_t*>(from.data) + row + first;
      const Words words = *reinterpret_cast<const Words*>(data);
      ATTN_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        const auto bits = static_cast<std::uint16_t>(words.w[i / 2] >> (i % 2 * 16));
        out[i] = from.dtype == DType::float16 ? half_value(bits) : bfloat_value(bits);
      }
      return;
    }
    ATTN_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      const bool there = token < tokens && first + i < channels;
      out[i] = there ? load_as_float(from.data, from.dtype, row + (first + i) * from.stride[3]) : 0.0F;
    }
  }
};

}  // namespace attn::cuda
