// SPDX-License-Identifier: GPL-3.0-or-later
// What the CUDA kernels are asked to do, in plain types: no CUDA header is needed to write a task down.
#pragma once

#include "core/tensor/dtype.h"

#include <cstdint>

namespace attn::cuda {

/// A tensor (batch, heads, tokens, dim) in device memory. Strides in elements, any number, 0 included. The two leading
/// dims of a rank 5 call must fold into one batch: where their strides do not, the caller passes a copy.
struct DeviceTensor {
  const void* data = nullptr;
  DType dtype = DType::bfloat16;
  std::int64_t stride[4] = {0, 0, 0, 0};
};

/// Sizes of one call. Everything that a kernel walks over fits 31 bits; offsets are 64 bits wide.
struct CallShape {
  int batch = 1;
  int heads = 1;
  int kv_heads = 1;
  int query_tokens = 0;
  int key_tokens = 0;
  int head_dim = 0;
  int value_dim = 0;
};

/// Which key tiles each query tile computes, in device memory: what a selection leaves, as ascending lists. Query tiles
/// have kQueryTile tokens and key tiles kKeyTile.
struct TileLists {
  int* tiles = nullptr;   ///< null: no lists. (batch, heads, query_tiles, key_tiles); a list fills the front of its row
  int* counts = nullptr;  ///< (batch, heads, query_tiles)
  int query_tiles = 0;
  int key_tiles = 0;
  int batch_step = 0;  ///< lists from one batch item to the next; 0: one for all
  int head_step = 0;   ///< lists from one query head to the next; 0: one for all
};

inline constexpr int kQueryTile = 128;
inline constexpr int kKeyTile = 64;

/// One attention call on the device; the meaning of every field is that of AttentionCall.
struct AttentionTask {
  CallShape shape;
  DeviceTensor query;
  DeviceTensor key;
  DeviceTensor value;
  DeviceTensor mask;    ///< data null: none. Strides broadcast to (batch, heads, query, key): 0 where the size is 1
  DeviceTensor output;  ///< written; float32, float16 or bfloat16
  float* log_sum_exp = nullptr;  ///< (batch, heads, query_tokens), natural log; null: not wanted
  double scale = 1.0;            ///< AttentionCall::effective_scale()
  bool is_causal = false;        ///< aligned top left
  TileLists selection;
};

/// Tokens of a block that share one INT8 factor.
enum class FactorGroup : std::uint8_t {
  token,   ///< each its own: SDNQ
  block,   ///< the whole block: Sage's Triton kernel
  warp,    ///< queries: runs of warp_rows; keys: the block
  thread,  ///< queries: rows of a run of warp_rows with one index mod 8; keys: those whose index mod 8 is in one pair
};

/// How operands become INT8. The three ways that the libraries mirrored have, by the numbers that tell them apart.
struct Int8Options {
  FactorGroup group = FactorGroup::token;
  int query_block = 128;  ///< tokens; at most 128 and a divisor of it, as is key_block
  int key_block = 64;
  int warp_rows = 32;
  float least_largest = 0.0F;    ///< the largest magnitude of a group counts as at least this
  float added = 0.0F;            ///< added to the factor
  bool half_away = false;        ///< halves away from zero, else to even
  bool smooth_keys = true;       ///< the mean key of the head is subtracted
  int rotated_channels = 0;      ///< channels that the rotation pads to: a power of two; 0: none is rotated
  int rotation_group = 0;        ///< channels rotated together: a power of two from 4 on
  DType value = DType::float16;  ///< probabilities and values meet in float16 or bfloat16, sums in fp32
};

/// Which tiles a call keeps, chosen on the device: nothing is read back.
struct SelectionTask {
  CallShape shape;  ///< value_dim is not looked at
  DeviceTensor query;
  DeviceTensor key;
  const std::uint8_t* marks = nullptr;  ///< TileMark for (mark_heads, query_tiles, key_tiles); null: the diagonal only
  int mark_heads = 1;                   ///< 1: the same for all heads
  int block_q = kQueryTile;
  int block_kv = kKeyTile;
  bool head_shared = false;        ///< one selection for all heads, from tensors averaged over them
  float budget = 0.3F;             ///< share of each row's candidates
  const float* budgets = nullptr;  ///< one per step, in device memory; null: `budget` always
  int steps = 0;                   ///< entries of `budgets`
  const int* step = nullptr;       ///< the step cell in device memory; read at run time, clamped to the table
  TileLists lists;                 ///< written; its steps say where, and with head_shared head_step is 0
  std::uint8_t* keep = nullptr;    ///< the same as 0 and 1 for (batch, heads or 1, query_tiles, key_tiles); may be null
};

}  // namespace attn::cuda
