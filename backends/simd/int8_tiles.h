// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/tile_task.h"

#include <array>
#include <cstdint>
#include <vector>

namespace attn {

/// Which tokens of a block share one INT8 factor, and how numbers are rounded to it.
struct Int8Scheme {
  static constexpr int kMostTokens = 128;
  int query_block = 1;  ///< tokens of a block; 1: one factor per token
  int key_block = 1;
  std::array<std::uint8_t, kMostTokens> query_group{};  ///< group of a token by its place in the block
  std::array<std::uint8_t, kMostTokens> key_group{};
  float least_largest = 0.0F;  ///< the largest magnitude of a group counts as at least this
  float added = 0.0F;          ///< added to the factor
  bool half_away = false;      ///< halves away from zero, else to even
};

/// How a value product is formed.
enum class Int8Values : std::uint8_t {
  fp32,  ///< probabilities and values as they are
  fp16,  ///< both rounded to binary16, sums in fp32
  bf16,  ///< both rounded to bfloat16, sums in fp32
  int8,  ///< values with one factor per token, probabilities with one per row and 64 keys; int32 sums
};

/// The arithmetic of one INT8 call.
struct Int8Arithmetic {
  Int8Scheme scheme;
  Int8Values values = Int8Values::fp32;
  bool smooth_keys = true;       ///< the mean key of the head is subtracted; the softmax does not change
  std::int64_t key_width = 0;    ///< head_dim, or what rotation pads it to
  std::int64_t key_group = 0;    ///< channels rotated together by hadamard(); 0: none
  std::int64_t value_width = 0;  ///< value_dim, or what rotation pads it to
  std::int64_t value_group = 0;
};

/// Memory of one INT8 task, reused by the next one on the same thread.
struct Int8Scratch {
  Int8Scratch(ScratchParts& parts, const CallSizes& sizes, const Int8Arithmetic& how, const Tiling& tiling);
  std::uint8_t* queries;        ///< (task_rows, depth), where depth is key_width in whole words of four
  float* query_factor;          ///< (task_rows), times scale * log2(e)
  float* sums;                  ///< (task_rows, whole vectors of value_width)
  float* staging;               ///< rows of a block in fp32
  std::int8_t* bytes;           ///< the same rows in INT8
  std::int8_t* keys;            ///< key panels of a block: (depth / 4, columns, 4)
  float* key_factor;            ///< per score column of the block's panels
  std::int32_t* key_sum;        ///< the same: the sum of a key's numbers, which undoes the queries' bias
  float* values;                ///< value panels in fp32
  std::int8_t* value_bytes;     ///< value panels in INT8: (keys / 4, channels, 4)
  float* token_factor;          ///< per key of the block: the keys' factors, then the values'
  std::int32_t* token_sum;      ///< the sums of the keys' numbers, per key of the block
  float* column_factor;         ///< the same by score column of a tile
  std::uint8_t* probabilities;  ///< (tile_rows, score columns)
  float* probability_factor;    ///< (segments, tile_rows)
};

/// The INT8 kernel's inner parts, one set per instruction set.
struct Int8Tiles {
  const char* name;
  int lanes;
  int max_vectors;
  int query_bias;  ///< added to every query number: 128 where the processor multiplies unsigned by signed bytes
  void (*run)(const TileTask& task, const Int8Arithmetic& how, const float* key_mean, const Int8Scratch& scratch);
  /// scores (rows, vectors * lanes) = query numbers . key numbers, exact, for a panel (words, vectors * lanes, 4).
  void (*multiply)(int vectors, const std::uint8_t* queries, std::int64_t query_step, const std::int8_t* panel,
                   std::int64_t rows, std::int64_t words, std::int32_t* products, std::int64_t product_step);
};

[[nodiscard]] Int8Tiles int8_tiles() noexcept;

/// How a call is cut: a task starts a query block, and a block of keys holds whole key blocks.
[[nodiscard]] Tiling int8_tiling(const CallSizes& sizes, const BlockSelection* selection, const Int8Arithmetic& how,
                                 int threads) noexcept;

/// Bytes that one thread needs beyond the tensors, whatever the lengths.
[[nodiscard]] std::int64_t int8_bytes_per_thread(const CallSizes& sizes, const Int8Arithmetic& how,
                                                 const Tiling& tiling) noexcept;

/// Whether int8_attention() can cut this call: a selection's key tiles must be whole words and whole groups.
[[nodiscard]] bool int8_takes(const BlockSelection* selection, const Int8Arithmetic& how) noexcept;

/// Attention with INT8 scores, for any strides, masks, causal, grouped heads and selections. Scores are exact products
/// of the numbers in int32, everything else is fp32. The result does not depend on the number of threads. The call
/// must have passed refusal() and int8_takes(). Memory: int8_bytes_per_thread() and one mean key per key/value head.
void int8_attention(const AttentionCall& call, const BlockSelection* selection, const Int8Arithmetic& how);

}  // namespace attn
