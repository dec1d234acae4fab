// SPDX-License-Identifier: GPL-3.0-or-later
// The mean key of every head, in two steps of a fixed order.
#pragma once

#include "backends/cuda/kernels/row_reader.h"

namespace attn::cuda {

struct MeanParams {
  RowReader keys;
  int heads = 0;
  int chunks = 0;            ///< of kMeanTokens tokens
  float* partial = nullptr;  ///< sums (batch, heads, chunks, kDim)
  float* mean = nullptr;     ///< (batch, heads, kDim)
};

inline constexpr int kMeanTokens = 512;

/// Sums of kMeanTokens tokens: block (chunk, head, batch).
template <int kDim>
struct PartialMeanKernel {
  using Params = MeanParams;
  static constexpr const char* kName = "partial mean";
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 2;
  static constexpr int kPerRow = kDim / kChunk;
  static constexpr int kGroups = kThreads / kPerRow;
  static constexpr int kGroupStep = kDim + kPerRow;  ///< words; neighbouring groups and chunks lie in different banks
  static constexpr std::size_t kMostSharedBytes = static_cast<std::size_t>(kGroups) * kGroupStep * 4;
  static std::size_t shared_bytes(const Params&) { return kMostSharedBytes; }

  struct Sums {
    float of[kChunk];
  };

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    const int first = block.x() * kMeanTokens;
    typename Block::template PerThread<Sums> sums(block);
    block.each([&](int thread) {
      Sums& own = sums(thread);
      ATTN_UNROLL
      for (int i = 0; i < kChunk; ++i) own.of[i] = 0.0F;
      const int last = first + kMeanTokens < p.keys.tokens ? first + kMeanTokens : p.keys.tokens;
      for (int token = first + thread / kPerRow; token < last; token += kGroups) {
        float values[kChunk];
        p.keys.read(block.z(), block.y(), token, thread % kPerRow, values);
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) own.of[i] += values[i];
      }
      ATTN_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        block.store(thread, place(thread / kPerRow, i * kPerRow + thread % kPerRow), own.of[i]);
      }
    });
    block.sync();
    block.each([&](int thread) {
      if (thread >= kDim) return;
      float total = 0.0F;
      for (int group = 0; group < kGroups; ++group) total += block.template load<float>(thread, place(group, thread));
      const std::int64_t head = static_cast<std::int64_t>(block.z()) * p.heads + block.y();
      const int channel = thread % kPerRow * kChunk + thread / kPerRow;
      p.partial[(head * p.chunks + block.x()) * kDim + channel] = total;
    });
  }

 private:
  static ATTN_HD constexpr std::uint32_t place(int group, int word) {
    return static_cast<std::uint32_t>((group * kGroupStep + word) * 4);
  }
};

/// The chunks' sums into means: block (0, head, batch).
template <int kDim>
struct MeanKernel {
  using Params = MeanParams;
  static constexpr const char* kName = "mean";
  static constexpr int kThreads = kDim;
  static constexpr int kMinBlocks = 1;
  static constexpr std::size_t kMostSharedBytes = 0;
  static std::size_t shared_bytes(const Params&) { return 0; }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    const std::int64_t head = static_cast<std::int64_t>(block.z()) * p.heads + block.y();
    block.each([&](int thread) {
      double total = 0.0;
      for (int chunk = 0; chunk < p.chunks; ++chunk) {
        total += static_cast<double>(p.partial[(head * p.chunks + chunk) * kDim + thread]);
      }
      p.mean[head * kDim + thread] = static_cast<float>(total / static_cast<double>(p.keys.tokens));
    });
  }
};

}  // namespace attn::cuda
