// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/call_addresses.h"
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <cstdint>
#include <vector>

namespace attn {

/// Keys and values of one (batch, key/value head) as floats: the numbers that the backend's formats hold, and the
/// factors that turn them back into keys and values.
struct HeadOperands {
  std::int64_t key_width = 0;         ///< floats in a key row: head_dim, or what the backend pads it to
  std::int64_t value_width = 0;       ///< floats in a value row: value_dim padded to a multiple of 16
  std::vector<float> keys;            ///< (key_tokens, key_width)
  std::vector<float> values;          ///< (key_tokens, value_width)
  std::vector<float> key_factor;      ///< one per key; empty: 1
  std::vector<float> value_factor;    ///< one per key, goes into the probabilities; empty: 1
  std::vector<float> channel_factor;  ///< one per value channel, goes into the result; empty: 1
};

/// One query tile in the same form.
struct QueryOperands {
  std::vector<float> rows;    ///< (count, key_width)
  std::vector<float> factor;  ///< one per row; empty: 1
};

/// Where a kernel gets its operands from, in its own number formats. Called from several threads at once.
class OperandSource {
 public:
  OperandSource() = default;
  OperandSource(const OperandSource&) = delete;
  OperandSource& operator=(const OperandSource&) = delete;
  virtual ~OperandSource() = default;
  virtual void load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const = 0;
  virtual void load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                            QueryOperands& out) const = 0;
  /// Last step of one output row of value_width floats, such as a rotation back.
  virtual void finish_row(float* /*row*/) const {}
};

/// The operands as they are, converted to float once.
class ExactOperands final : public OperandSource {
 public:
  explicit ExactOperands(const AttentionCall& call) : call_(call) {}
  void load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const override;
  void load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                    QueryOperands& out) const override;

 private:
  const AttentionCall& call_;
};

/// Format of the probabilities that meet the values.
enum class Probabilities : std::uint8_t {
  fp32,
  fp16,         ///< rounded, no factor
  bf16,         ///< rounded, no factor
  int8_tile,    ///< whole numbers 0..127 with one factor per row and key tile
  e4m3_tile,    ///< e4m3 with one factor per row and key tile
  fp16_tile,    ///< fp16 scaled to 65504 with one factor per row and key tile
  e4m3_static,  ///< e4m3 of 448 times the probability
};

/// How a sum of products is kept.
enum class Accumulator : std::uint8_t {
  fp32,  ///< also int32: sums of whole numbers below 2^24 are exact in fp32
  fp16,  ///< rounded to fp16 after each matrix instruction, of 16 products
};

/// The arithmetic inside a tile.
struct Arithmetic {
  int query_tile = 64;
  int key_tile = 64;  ///< a multiple of 16
  Accumulator scores = Accumulator::fp32;
  /// With fp16 sums of scores both operands are multiplied by (range * width)^-1/2 and the sum by range * width, so
  /// that it cannot overflow; 0: no such scaling.
  float score_range = 0.0F;
  Probabilities probabilities = Probabilities::fp32;
  Accumulator values = Accumulator::fp32;  ///< fp16: inside one key tile; tiles are added in fp32
  float value_range = 0.0F;                ///< as score_range, with the key tile in place of the width
};

/// Attention without a score matrix: per query tile one pass over the key tiles with an online softmax. Work is
/// split over (batch, head, query tile) with oneTBB; the result does not depend on the number of threads.
///
/// Handles masks, causal (top left), grouped heads and block selections; a row without any allowed key gives zeros.
/// The call must have passed refusal().
void tiled_attention(const AttentionCall& call, const BlockSelection* selection, const OperandSource& operands,
                     const Arithmetic& arithmetic);

}  // namespace attn
