// SPDX-License-Identifier: GPL-3.0-or-later
// Means of tiles, summed in the order of TilePooler, so that they are the same to the last bit.
#pragma once

#include "backends/cuda/arithmetic/numbers.h"
#include "backends/cuda/kernels/tasks.h"

namespace attn::cuda {

struct PoolParams {
  DeviceTensor from;
  int heads = 0;  ///< of the tensor
  int tokens = 0;
  int channels = 0;
  int block = 0;  ///< tokens of a tile
  int tiles = 0;
  bool all_heads = false;   ///< one mean over all heads
  bool transposed = false;  ///< (batch, heads or 1, channels, tiles), else (batch, heads or 1, tiles, channels)
  float* means = nullptr;
};

/// Block (tile, head, batch): a thread sums its channels token by token.
struct PoolKernel {
  using Params = PoolParams;
  static constexpr const char* kName = "pool";
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 4;
  static constexpr std::size_t kMostSharedBytes = 0;
  static std::size_t shared_bytes(const Params&) { return 0; }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    const int first = block.x() * p.block;
    const int count = p.tokens - first < p.block ? p.tokens - first : p.block;
    const int first_head = p.all_heads ? 0 : block.y();
    const int last_head = p.all_heads ? p.heads : first_head + 1;
    const int selections = p.all_heads ? 1 : p.heads;
    const std::int64_t out = (static_cast<std::int64_t>(block.z()) * selections + block.y()) * p.tiles * p.channels;
    block.each([&](int thread) {
      for (int channel = thread; channel < p.channels; channel += kThreads) {
        float mean = 0.0F;
        for (int head = first_head; head < last_head; ++head) {
          const std::int64_t at = block.z() * p.from.stride[0] + head * p.from.stride[1] + channel * p.from.stride[3];
          float total = 0.0F;
          for (int token = first; token < first + count; ++token) {
            total = sum(total, load_as_float(p.from.data, p.from.dtype, at + token * p.from.stride[2]));
          }
          mean = sum(mean, quotient(total, static_cast<float>(count)));
        }
        mean = quotient(mean, static_cast<float>(last_head - first_head));
        const std::int64_t place = p.transposed ? static_cast<std::int64_t>(channel) * p.tiles + block.x()
                                                : static_cast<std::int64_t>(block.x()) * p.channels + channel;
        p.means[out + place] = mean;
      }
    });
  }
};

}  // namespace attn::cuda
