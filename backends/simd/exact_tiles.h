// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/call_addresses.h"
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <cstdint>

namespace attn {

/// Keys of a block that are computed: `keys` of them from `key` on (counted in the block), whose scores stand from
/// column `column` of the score tile on.
struct Stretch {
  std::int64_t column;
  std::int64_t key;
  std::int64_t keys;
};

/// How a call is cut. All counts in tokens.
struct ExactTiling {
  std::int64_t task_rows;  ///< query rows that share one packing of the keys and values
  std::int64_t tile_rows;  ///< query rows of a score tile; divides task_rows and a selection's query tile
  std::int64_t block_keys; ///< keys packed at a time; a multiple of a selection's key tile

  /// Sizes that keep a task's memory in a level-2 cache of 1 MiB and give every thread several tasks.
  [[nodiscard]] static ExactTiling of(const CallSizes& sizes, const BlockSelection* selection, int threads) noexcept;
};

/// Memory of one task, reused by the next one on the same thread. Floats; the largest use is stated by scratch_floats.
struct ExactScratch {
  float* queries;  ///< (task_rows, head_dim), scaled by scale * log2(e)
  float* sums;     ///< (task_rows, padded value_dim): the unnormalised result
  float* row;      ///< maximum, sum of exponentials and rescale of every row
  float* staging;  ///< rows in fp32 before they are packed
  float* keys;     ///< key panels of a block
  float* values;   ///< value panels of a block
  float* scores;   ///< (tile_rows, padded block_keys)
};

/// One unit of work: query rows [first_row, first_row + rows) of one head.
struct ExactTask {
  const AttentionCall& call;
  const BlockSelection* selection;
  const CallSizes& sizes;
  const ExactTiling& tiling;
  std::int64_t batch;
  std::int64_t head;
  std::int64_t first_row;
  std::int64_t rows;
};

/// The exact kernel's inner parts, one set per instruction set, for the driver and for their own tests and benchmarks.
struct ExactTiles {
  const char* name;  ///< Highway's name of the target: "AVX3", "AVX2", "SSE4", ...
  int lanes;         ///< floats in a vector
  int max_vectors;   ///< widest panel, in vectors

  void (*run)(const ExactTask& task, const ExactScratch& scratch);

  /// out[i] = 2^x[i] for x <= 0; 0 below -126. `count` is a multiple of `lanes`.
  void (*exp2)(const float* x, std::int64_t count, float* out);
  /// One row of an online softmax in base 2; returns the factor for earlier sums. `count` is a multiple of `lanes`.
  float (*softmax_row)(float* scores, std::int64_t count, float* maximum, float* sum);
  /// `count` elements in a row, widened to fp32 and multiplied.
  void (*load_row)(DType dtype, const void* from, std::int64_t count, float factor, float* to);
  /// Rows (keys, depth) into a panel (depth, vectors * lanes), zeros behind the last key.
  void (*pack_keys)(const float* rows, std::int64_t row_step, std::int64_t keys, std::int64_t depth, int vectors,
                    float* panel);
  /// scores (rows, vectors * lanes) = queries (rows, depth) * panel.
  void (*score_panel)(int vectors, const float* queries, std::int64_t query_step, const float* panel,
                      std::int64_t rows, std::int64_t depth, float* scores, std::int64_t score_step);
  /// out = out * rescale + probabilities * panel over the stretches.
  void (*value_panel)(int vectors, const float* probabilities, std::int64_t probability_step, const float* panel,
                      const Stretch* stretches, std::int64_t count, std::int64_t rows, const float* rescale, float* out,
                      std::int64_t out_step);
};

/// Floats that one thread needs for tasks of a tiling, and where the parts begin.
[[nodiscard]] std::int64_t scratch_floats(const CallSizes& sizes, const ExactTiling& tiling) noexcept;
[[nodiscard]] ExactScratch scratch_in(float* memory, const CallSizes& sizes, const ExactTiling& tiling) noexcept;

/// The best set that this processor runs and that hwy::DisableTargets leaves.
[[nodiscard]] ExactTiles exact_tiles() noexcept;

/// Exact attention in fp32 without a score matrix, for any strides, masks, causal, grouped heads and selections. The
/// result does not depend on the number of threads. The call must have passed refusal(). Memory beyond the tensors is
/// scratch_floats() per thread, whatever the lengths.
void exact_attention(const AttentionCall& call, const BlockSelection* selection);

}  // namespace attn
