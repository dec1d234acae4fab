// SPDX-License-Identifier: GPL-3.0-or-later
// Queries or keys into INT8 numbers with factors: smoothed, rotated, rounded.
#pragma once

#include "backends/cuda/arithmetic/factors.h"
#include "backends/cuda/kernels/row_reader.h"

namespace attn::cuda {

struct QuantiseParams {
  RowReader from;
  int heads = 0;
  int padded_tokens = 0;  ///< tokens in whole blocks of kQueryTile; those behind the last have number and factor 0
  bool keys = false;
  FactorGroup group = FactorGroup::token;
  int block = 1;  ///< tokens of a block
  int warp_rows = 32;
  float least_largest = 0.0F;
  float added = 0.0F;
  bool half_away = false;
  int rotated_channels = 0;
  int rotation_group = 0;
  const float* mean = nullptr;  ///< (batch, kv_heads, kDim): taken off keys; of queries only the product is wanted
  int heads_per_mean = 1;
  bool negate = false;               ///< the numbers change their sign: a negative scale
  float multiplier = 1.0F;           ///< the factors are multiplied by it, and are at least ...
  float least_factor = 0.0F;         ///< ... this
  std::uint32_t* numbers = nullptr;  ///< (batch, heads, padded_tokens, kDim) bytes
  float* factors = nullptr;          ///< (batch, heads, padded_tokens)
  float* mean_products = nullptr;    ///< (batch, heads, padded_tokens): query . mean key; null: not wanted
};

/// Block (kTokens, head, batch). A thread holds 8 channels of several rows in registers from reading to writing.
template <int kDim, bool kRotate>
struct QuantiseKernel {
  using Params = QuantiseParams;
  static constexpr const char* kName = kRotate ? "quantise with rotation" : "quantise";
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 2;
  static constexpr int kTokens = kDim <= 128 ? kQueryTile : kQueryTile / 2;  ///< a group of factors is within them
  static constexpr int kPerRow = kDim / kChunk;                              ///< lanes that share a row
  static constexpr int kItems = kTokens * kPerRow / kThreads;                ///< rows that a thread has a part of
  static constexpr int kRowStep = kDim + 1;                                  ///< floats of a row that is rotated
  static constexpr std::uint32_t kFactorAt = kTokens * 4;                    ///< behind the rows' largest magnitudes
  static constexpr std::uint32_t kRowsAt = 2 * kFactorAt;
  static constexpr std::size_t kMostSharedBytes =
      kRowsAt + (kRotate ? static_cast<std::size_t>(kTokens) * kRowStep * 4 : 0);
  static std::size_t shared_bytes(const Params&) { return kMostSharedBytes; }

  struct Values {
    float of[kItems][kChunk];
  };
  struct alignas(8) NumberWords {
    std::uint32_t w[2];
  };
  struct RowValues {
    float of[kItems];
  };
  template <class T, class Block>
  using PerThread = typename Block::template PerThread<T>;

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    PerThread<Values, Block> values(block);
    read(block, p, values);
    if constexpr (kRotate) rotate(block, p, values);
    write_factors(block, p, values);
    write_numbers(block, p, values);
  }

 private:
  static ATTN_HD constexpr int row_of(int thread, int item) { return (item * kThreads + thread) / kPerRow; }
  static ATTN_HD constexpr int chunk_of(int thread) { return thread % kPerRow; }

  template <class Block>
  static ATTN_KERNEL std::int64_t first_row(Block& block, const Params& p) {
    return (static_cast<std::int64_t>(block.z()) * p.heads + block.y()) * p.padded_tokens + block.x() * kTokens;
  }
  template <class Block>
  static ATTN_KERNEL const float* mean_of(Block& block, const Params& p) {
    const int kv_heads = p.heads / p.heads_per_mean;
    const std::int64_t head = static_cast<std::int64_t>(block.z()) * kv_heads + block.y() / p.heads_per_mean;
    return p.mean + head * kDim;
  }

  template <class Block>
  static ATTN_KERNEL void read(Block& block, const Params& p, PerThread<Values, Block>& values) {
    PerThread<RowValues, Block> products(block);
    block.each([&](int thread) {
      Values& own = values(thread);
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const int token = block.x() * kTokens + row_of(thread, item);
        p.from.read(block.z(), block.y(), token, chunk_of(thread), own.of[item]);
      }
      if (p.mean == nullptr) return;
      const float* mean = mean_of(block, p) + chunk_of(thread) * kChunk;
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const bool there = block.x() * kTokens + row_of(thread, item) < p.from.tokens;
        products(thread).of[item] = 0.0F;
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) {
          if (!p.keys) products(thread).of[item] += own.of[item][i] * mean[i];
          if (p.keys && there) own.of[item][i] = sum(own.of[item][i], -mean[i]);
        }
      }
    });
    if (p.mean == nullptr || p.mean_products == nullptr) return;
    ATTN_UNROLL
    for (int item = 0; item < kItems; ++item) {
      block.template reduce<kPerRow>([&](int thread) -> float& { return products(thread).of[item]; },
                                     [](float a, float b) { return a + b; });
    }
    block.each([&](int thread) {
      if (chunk_of(thread) != 0) return;
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        p.mean_products[first_row(block, p) + row_of(thread, item)] = products(thread).of[item];
      }
    });
  }

  // --- rotation: quantise.h's hadamard() in shared memory, one factor of the Kronecker power after the other --------

  static ATTN_HD constexpr std::uint32_t place(int row, int channel) {
    return kRowsAt + static_cast<std::uint32_t>((row * kRowStep + channel) * 4);
  }

  template <class Block>
  static ATTN_KERNEL void rotate(Block& block, const Params& p, PerThread<Values, Block>& values) {
    block.each([&](int thread) {
      for (int item = 0; item < kItems; ++item) {
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) {
          block.store(thread, place(row_of(thread, item), chunk_of(thread) * kChunk + i), values(thread).of[item][i]);
        }
      }
    });
    block.sync();
    const bool by_four = (p.rotation_group & 0x55555555) != 0;
    for (int step = 1; step < p.rotation_group; step *= by_four ? 4 : 2) {
      block.each([&](int thread) { by_four ? turn_four(block, p, thread, step) : turn_two(block, p, thread, step); });
      block.sync();
    }
    const float norm = quotient(1.0F, ::sqrtf(static_cast<float>(p.rotation_group)));
    block.each([&](int thread) {
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) {
          const int channel = chunk_of(thread) * kChunk + i;
          const float value = block.template load<float>(thread, place(row_of(thread, item), channel));
          values(thread).of[item][i] = channel < p.rotated_channels ? product(value, norm) : value;
        }
      }
    });
  }

  template <class Block>
  static ATTN_KERNEL void turn_two(Block& block, const Params& p, int thread, int step) {
    const int pairs = p.rotated_channels / 2;
    for (int at = thread; at < kTokens * pairs; at += kThreads) {
      const int pair = at % pairs;
      const int low = pair / step * 2 * step + pair % step;
      const std::uint32_t a_at = place(at / pairs, low);
      const std::uint32_t b_at = place(at / pairs, low + step);
      const float a = block.template load<float>(thread, a_at);
      const float b = block.template load<float>(thread, b_at);
      block.store(thread, a_at, sum(a, b));
      block.store(thread, b_at, sum(a, -b));
    }
  }

  template <class Block>
  static ATTN_KERNEL void turn_four(Block& block, const Params& p, int thread, int step) {
    const int fours = p.rotated_channels / 4;
    for (int at = thread; at < kTokens * fours; at += kThreads) {
      const int four = at % fours;
      const int low = four / step * 4 * step + four % step;
      float of[4];
      ATTN_UNROLL
      for (int i = 0; i < 4; ++i) of[i] = block.template load<float>(thread, place(at / fours, low + i * step));
      const float total = sum(sum(of[0], of[1]), sum(of[2], of[3]));
      ATTN_UNROLL
      for (int i = 0; i < 4; ++i) {
        block.store(thread, place(at / fours, low + i * step), sum(total, product(-2.0F, of[3 - i])));
      }
    }
  }

  // --- numbers
  // --------------------------------------------------------------------------------------------------------

  template <class Block>
  static ATTN_KERNEL void write_factors(Block& block, const Params& p, PerThread<Values, Block>& values) {
    PerThread<RowValues, Block> largest(block);
    block.each([&](int thread) {
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        float top = 0.0F;
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) top = larger(top, ::fabsf(values(thread).of[item][i]));
        largest(thread).of[item] = top;
      }
    });
    ATTN_UNROLL
    for (int item = 0; item < kItems; ++item) {
      block.template reduce<kPerRow>([&](int thread) -> float& { return largest(thread).of[item]; },
                                     [](float a, float b) { return larger(a, b); });
    }
    block.each([&](int thread) {
      if (chunk_of(thread) != 0) return;
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        block.store(thread, static_cast<std::uint32_t>(row_of(thread, item) * 4), largest(thread).of[item]);
      }
    });
    block.sync();
    block.each([&](int thread) {
      if (thread >= kTokens) return;
      const float factor = factor_of(group_largest(block, p, thread), p.least_largest, p.added);
      block.store(thread, kFactorAt + static_cast<std::uint32_t>(thread * 4), factor);
      const bool there = block.x() * kTokens + thread < p.from.tokens;
      const float stored = larger(product(factor, p.multiplier), p.least_factor);
      p.factors[first_row(block, p) + thread] = there ? stored : 0.0F;
    });
    block.sync();
  }

  template <class Block>
  static ATTN_KERNEL float group_largest(Block& block, const Params& p, int token) {
    if (p.group == FactorGroup::token) return block.template load<float>(token, static_cast<std::uint32_t>(token * 4));
    const int first = token / p.block * p.block;
    const int group = factor_group(p.group, p.keys, p.warp_rows, token - first);
    float top = 0.0F;
    for (int i = 0; i < p.block; ++i) {
      const float other = block.template load<float>(token, static_cast<std::uint32_t>((first + i) * 4));
      if (factor_group(p.group, p.keys, p.warp_rows, i) == group) top = larger(top, other);
    }
    return top;
  }

  template <class Block>
  static ATTN_KERNEL void write_numbers(Block& block, const Params& p, PerThread<Values, Block>& values) {
    block.each([&](int thread) {
      ATTN_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const int row = row_of(thread, item);
        const float factor = block.template load<float>(thread, kFactorAt + static_cast<std::uint32_t>(row * 4));
        const float inverse = factor == 0.0F ? 0.0F : quotient(1.0F, factor);
        int n[kChunk];
        ATTN_UNROLL
        for (int i = 0; i < kChunk; ++i) {
          const int number = number_of(values(thread).of[item][i], inverse, p.half_away);
          n[i] = p.negate ? -number : number;
        }
        NumberWords words{{pack_numbers(n[0], n[1], n[2], n[3]), pack_numbers(n[4], n[5], n[6], n[7])}};
        auto* to = p.numbers + ((first_row(block, p) + row) * kDim + chunk_of(thread) * kChunk) / 4;
        *reinterpret_cast<NumberWords*>(to) = words;
      }
    });
  }
};

}  // namespace attn::cuda
