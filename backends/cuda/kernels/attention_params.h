// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/tasks.h"

namespace attn::cuda {

/// Rows that asynchronous copies read: 16-byte aligned, steps in bytes.
struct CopyRows {
  const unsigned char* data = nullptr;
  std::int64_t batch_step = 0;
  std::int64_t head_step = 0;
  std::int64_t row_step = 0;
  int row_bytes = 0;  ///< of a row; what a tile's row has beyond them is zero
};

/// One attention launch: operands prepared, block (query tile, head, batch), of wide rows (query tile, head, batch and
/// part of the output channels).
struct AttentionParams {
  CallShape shape;
  CopyRows query;
  CopyRows key;
  CopyRows value;
  const float* query_factors = nullptr;  ///< INT8: (batch, heads, padded queries), with the scale and log2(e)
  const float* key_factors = nullptr;    ///< INT8: (batch, kv_heads, padded keys)
  const float* mean_products = nullptr;  ///< INT8: query . mean key for the log-sum-exp; null: keys are not smoothed
  int padded_queries = 0;
  int padded_keys = 0;
  float scale = 1.0F;  ///< of scores in base 2: the call's scale times log2(e)
  DeviceTensor mask;
  DeviceTensor output;
  bool pairs = false;  ///< two neighbouring output channels can be written in one access
  float* log_sum_exp = nullptr;
  bool is_causal = false;
  TileLists selection;
  int score_chunks = 1;  ///< wide rows: parts of 64 channels that the scores are summed over
  int value_chunks = 1;  ///< wide rows: parts of 128 output channels, each of them a block's
};

}  // namespace attn::cuda
