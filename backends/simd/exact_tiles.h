// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/tile_task.h"

#include <cstdint>

namespace attn {

/// Memory of one exact task, reused by the next one on the same thread.
struct ExactScratch {
  ExactScratch(ScratchParts& parts, const CallSizes& sizes, const Tiling& tiling);
  float* queries;  ///< (task_rows, head_dim), scaled by scale * log2(e)
  float* sums;     ///< (task_rows, whole vectors of value_dim): the unnormalised result
  float* staging;  ///< a block's rows in fp32 before they are packed
  float* keys;     ///< key panels of a block
  float* values;   ///< value panels of a block
};

/// The exact kernel's inner parts, one set per instruction set, for the driver and for their own tests and benchmarks.
struct ExactTiles {
  const char* name;  ///< Highway's name of the target: "AVX3", "AVX2", "SSE4", ...
  int lanes;         ///< floats in a vector
  int max_vectors;   ///< widest panel, in vectors

  bool has_pairs;  ///< the set has an instruction for pairs of bfloat16; the processor may lack it

  void (*run)(const TileTask& task, const ExactScratch& scratch);
  /// The same with scores from pairs of bfloat16: only for calls that pair_scores_fit().
  void (*run_pairs)(const TileTask& task, const ExactScratch& scratch);
  /// Steps of sixteen register products of either way, to be timed; the sum keeps them alive.
  float (*spin)(bool pairs, std::int64_t steps);

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
  void (*score_panel)(int vectors, const float* queries, std::int64_t query_step, const float* panel, std::int64_t rows,
                      std::int64_t depth, float* scores, std::int64_t score_step);
  /// scores = factor * queries * panel, both in words of two bfloat16; by the instruction, or widened as anywhere.
  void (*pair_panel)(bool instruction, int vectors, const std::int32_t* queries, std::int64_t query_step,
                     const std::int32_t* panel, std::int64_t rows, std::int64_t words, float factor, float* scores,
                     std::int64_t score_step);
  /// out = out * rescale + probabilities * panel over the stretches.
  void (*value_panel)(int vectors, const float* probabilities, std::int64_t probability_step, const float* panel,
                      const Stretch* stretches, std::int64_t count, std::int64_t rows, const float* rescale, float* out,
                      std::int64_t out_step);
};

/// The best set that this processor runs and that hwy::DisableTargets leaves.
[[nodiscard]] ExactTiles exact_tiles() noexcept;

/// Whether products of bfloat16 pairs are there and faster than fp32 ones here. Measured once, in a millisecond: with
/// the same feature flag some processors take half the time for them and others twice.
[[nodiscard]] bool pairs_pay(const ExactTiles& tiles) noexcept;

/// Whether queries and keys are bfloat16 rows that can be read in words.
[[nodiscard]] bool pair_scores_fit(const AttentionCall& call) noexcept;

/// Bytes that one thread needs beyond the tensors, whatever the lengths.
[[nodiscard]] std::int64_t exact_bytes_per_thread(const CallSizes& sizes, const Tiling& tiling) noexcept;

/// Exact attention in fp32 without a score matrix, for any strides, masks, causal, grouped heads and selections. The
/// result does not depend on the number of threads. The call must have passed refusal().
void exact_attention(const AttentionCall& call, const BlockSelection* selection);

}  // namespace attn
