// SPDX-License-Identifier: GPL-3.0-or-later
// A tensor of any strides and dtype into rows of 16-bit elements that asynchronous copies can read.
#pragma once

#include "backends/cuda/kernels/row_reader.h"

namespace attn::cuda {

struct PackParams {
  RowReader from;
  int heads = 0;
  DType dtype = DType::float16;
  void* rows = nullptr;  ///< (batch, heads, tokens, channels), zeros behind the tensor's last channel
  int row_chunks = 0;    ///< of 8 channels, in a packed row
  int first_chunk = 0;   ///< of those that this launch packs
};

/// Block (32 tokens, head, batch): kDim channels of a row.
template <int kDim>
struct PackKernel {
  using Params = PackParams;
  static constexpr const char* kName = "pack";
  static constexpr int kPerRow = kDim / kChunk;
  static constexpr int kTokens = 32;
  static constexpr int kThreads = kTokens * kPerRow;
  static constexpr int kMinBlocks = 2;
  static constexpr std::size_t kMostSharedBytes = 0;
  static std::size_t shared_bytes(const Params&) { return 0; }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    block.each([&](int thread) {
      const int token = block.x() * kTokens + thread / kPerRow;
      if (token >= p.from.tokens) return;
      float values[kChunk];
      const int chunk = p.first_chunk + thread % kPerRow;
      p.from.read(block.z(), block.y(), token, chunk, values);
      Words words;
      ATTN_UNROLL
      for (int i = 0; i < 4; ++i) words.w[i] = pack_pair(p.dtype, values[2 * i], values[2 * i + 1]);
      const std::int64_t head = static_cast<std::int64_t>(block.z()) * p.heads + block.y();
      static_cast<Words*>(p.rows)[(head * p.from.tokens + token) * p.row_chunks + chunk] = words;
    });
  }
};

}  // namespace attn::cuda
