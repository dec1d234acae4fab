// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/tiled_attention.h"

#include "backends/simd/parallel_range.h"
#include "backends/simd/rounding.h"
#include "backends/simd/tile_math.h"

#include <tbb/task_arena.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attn {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kInstructionDepth = 16;

std::int64_t padded(std::int64_t size) noexcept { return (size + 15) / 16 * 16; }

/// The largest tile up to `wanted` that never straddles two tiles of a selection.
int tile_within(std::int64_t block, int wanted) noexcept {
  int tile = static_cast<int>(std::min<std::int64_t>(block, wanted));
  while (block % tile != 0) --tile;
  return tile;
}

/// Everything that the tiles of one call share.
struct Job {
  const AttentionCall& call;
  const BlockSelection* selection;
  const OperandSource& operands;
  Arithmetic arithmetic;
  CallSizes sizes;
  std::int64_t key_step;  ///< floats in a row of the score tile: the key tile, padded to whole vectors
  const TileMath& math;
};

/// Keys of one head, transposed tile by tile so that a product runs along keys.
struct HeadTiles {
  HeadOperands operands;
  std::vector<float> keys;  ///< per key tile (key_width, key_step)
};

HeadTiles load_head(const Job& job, std::int64_t batch, std::int64_t kv_head) {
  HeadTiles head;
  job.operands.load_keys_values(batch, kv_head, head.operands);
  const std::int64_t width = head.operands.key_width;
  const std::int64_t tile = job.arithmetic.key_tile;
  const std::int64_t tiles = (job.sizes.key_tokens + tile - 1) / tile;
  head.keys.assign(static_cast<std::size_t>(tiles * width * job.key_step), 0.0F);
  for (std::int64_t token = 0; token < job.sizes.key_tokens; ++token) {
    const float* row = head.operands.keys.data() + token * width;
    float* column = head.keys.data() + token / tile * width * job.key_step + token % tile;
    for (std::int64_t d = 0; d < width; ++d) column[d * job.key_step] = row[d];
  }
  head.operands.keys = {};
  return head;
}

/// One query tile on its way through the keys.
class TilePass {
 public:
  TilePass(const Job& job, const HeadTiles& head, std::int64_t batch, std::int64_t query_head)
      : job_(job), head_(head), batch_(batch), query_head_(query_head), value_width_(head.operands.value_width) {
    const auto rows = static_cast<std::size_t>(job.arithmetic.query_tile);
    scores_.resize(rows * static_cast<std::size_t>(job.key_step));
    sums_.resize(rows * static_cast<std::size_t>(value_width_));
    states_.resize(rows);
  }

  void run(std::int64_t first_query) {
    first_query_ = first_query;
    rows_ = std::min<std::int64_t>(job_.arithmetic.query_tile, job_.sizes.query_tokens - first_query);
    job_.operands.load_queries(batch_, query_head_, first_query, rows_, queries_);
    if (job_.arithmetic.scores == Accumulator::fp16) scale_operands(queries_.rows, score_scale());
    std::fill(states_.begin(), states_.end(), RowState{kNone, 0.0F});
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    const std::int64_t last_key =
        job_.call.is_causal ? std::min(job_.sizes.key_tokens, first_query + rows_) : job_.sizes.key_tokens;
    for (std::int64_t key = 0; key < last_key; key += job_.arithmetic.key_tile) {
      if (!kept(key)) continue;
      score(key);
      soften(key);
      add_values(key);
    }
    write();
  }

 private:
  [[nodiscard]] bool kept(std::int64_t key) const {
    const BlockSelection* selection = job_.selection;
    return selection == nullptr ||
           selection->kept(batch_, query_head_, first_query_ / selection->block_q, key / selection->block_kv);
  }
  [[nodiscard]] std::int64_t keys_at(std::int64_t key) const {
    return std::min<std::int64_t>(job_.arithmetic.key_tile, job_.sizes.key_tokens - key);
  }
  [[nodiscard]] float score_scale() const {
    const float range = job_.arithmetic.score_range * static_cast<float>(head_.operands.key_width);
    return range > 0.0F ? 1.0F / std::sqrt(range) : 1.0F;
  }
  static void scale_operands(std::vector<float>& values, float factor) {
    for (float& value : values) value = round_to_half(value * factor);
  }

  /// Raw products of the query tile with one key tile, then everything that is multiplied or added to them.
  void score(std::int64_t key) {
    const std::int64_t width = head_.operands.key_width;
    const float* keys = head_.keys.data() + key / job_.arithmetic.key_tile * width * job_.key_step;
    if (job_.arithmetic.scores == Accumulator::fp32) {
      job_.math.multiply(queries_.rows.data(), width, keys, job_.key_step, scores_.data(), job_.key_step, rows_, width,
                         job_.key_step, false);
    } else {
      narrow_.assign(keys, keys + width * job_.key_step);
      scale_operands(narrow_, score_scale());
      multiply_half(queries_.rows.data(), width, narrow_.data(), job_.key_step, scores_.data(), job_.key_step, width);
    }
    const std::int64_t count = keys_at(key);
    const float* per_key = head_.operands.key_factor.empty() ? nullptr : head_.operands.key_factor.data() + key;
    const float back = job_.arithmetic.scores == Accumulator::fp16 ? 1.0F / (score_scale() * score_scale()) : 1.0F;
    // Without a head_dim there is nothing to scale, and 1/sqrt(0) must not reach the zeros.
    const float scale = width == 0 ? 0.0F : static_cast<float>(job_.call.effective_scale());
    for (std::int64_t i = 0; i < rows_; ++i) {
      const float per_query = queries_.factor.empty() ? 1.0F : queries_.factor[static_cast<std::size_t>(i)];
      job_.math.scale_row(scores_.data() + i * job_.key_step, count, back * scale * per_query, per_key);
    }
    mask_scores(key, count);
  }

  void mask_scores(std::int64_t key, std::int64_t count) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = scores_.data() + i * job_.key_step;
      if (job_.call.attn_mask) {
        const TensorView& mask = *job_.call.attn_mask;
        apply_mask(mask, mask_offset(mask, job_.call, batch_, query_head_, first_query_ + i), key, count, row);
      }
      const std::int64_t visible =
          job_.call.is_causal ? std::clamp<std::int64_t>(first_query_ + i + 1 - key, 0, count) : count;
      std::fill(row + visible, row + job_.key_step, kNone);
    }
  }

  void soften(std::int64_t key) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = scores_.data() + i * job_.key_step;
      const float before = job_.math.softmax_row(row, job_.key_step, &states_[static_cast<std::size_t>(i)]);
      if (before != 1.0F) job_.math.multiply_row(sums_.data() + i * value_width_, value_width_, before);
    }
    row_factor_.assign(static_cast<std::size_t>(rows_), 1.0F);
    if (!head_.operands.value_factor.empty()) {
      const float* factor = head_.operands.value_factor.data() + key;
      const std::int64_t count = keys_at(key);
      for (std::int64_t i = 0; i < rows_; ++i)
        job_.math.scale_row(scores_.data() + i * job_.key_step, count, 1.0F, factor);
    }
    for (std::int64_t i = 0; i < rows_; ++i) {
      row_factor_[static_cast<std::size_t>(i)] = narrow_probabilities(scores_.data() + i * job_.key_step);
    }
  }

  /// Brings one row of probabilities into its format; returns the factor that the products need.
  float narrow_probabilities(float* row) const {
    const std::int64_t count = job_.key_step;
    const Probabilities format = job_.arithmetic.probabilities;
    switch (format) {
      case Probabilities::fp32:
        return 1.0F;
      case Probabilities::fp16:
        job_.math.round_half_row(row, count);
        return 1.0F;
      case Probabilities::bf16:
        for (std::int64_t j = 0; j < count; ++j) row[j] = round_to_bfloat(row[j]);
        return 1.0F;
      case Probabilities::e4m3_static:
        for (std::int64_t j = 0; j < count; ++j) row[j] = round_to_e4m3(row[j] * 448.0F);
        return 1.0F / 448.0F;
      case Probabilities::int8_tile:
      case Probabilities::e4m3_tile:
      case Probabilities::fp16_tile:
        break;
    }
    const float range = format == Probabilities::int8_tile   ? 127.0F
                        : format == Probabilities::e4m3_tile ? 448.0F
                                                             : 65504.0F;
    const float largest = *std::max_element(row, row + count);
    const float factor = largest / range <= 2e-38F ? 1.0F : largest / range;
    for (std::int64_t j = 0; j < count; ++j) {
      const float scaled = row[j] / factor;
      if (format == Probabilities::int8_tile) row[j] = std::floor(scaled + 0.5F);
      if (format == Probabilities::e4m3_tile) row[j] = round_to_e4m3(scaled);
      if (format == Probabilities::fp16_tile) row[j] = round_to_half(std::min(scaled, range));
    }
    return factor;
  }

  void add_values(std::int64_t key) {
    const float* values = head_.operands.values.data() + key * value_width_;
    const std::int64_t count = keys_at(key);
    const Arithmetic& how = job_.arithmetic;
    const bool plain = how.values == Accumulator::fp32 &&
                       (how.probabilities == Probabilities::fp32 || how.probabilities == Probabilities::fp16 ||
                        how.probabilities == Probabilities::bf16);
    if (plain) {
      job_.math.multiply(scores_.data(), job_.key_step, values, value_width_, sums_.data(), value_width_, rows_, count,
                         value_width_, true);
      return;
    }
    // The tile's product stands alone before it is scaled and added: that is where the formats differ.
    tile_sums_.resize(sums_.size());
    float back = 1.0F;
    if (how.values == Accumulator::fp32) {
      job_.math.multiply(scores_.data(), job_.key_step, values, value_width_, tile_sums_.data(), value_width_, rows_,
                         count, value_width_, false);
    } else {
      back = multiply_values_half(values, count);
    }
    for (std::int64_t i = 0; i < rows_; ++i) {
      const float factor = row_factor_[static_cast<std::size_t>(i)] * back;
      const float* from = tile_sums_.data() + i * value_width_;
      float* to = sums_.data() + i * value_width_;
      for (std::int64_t d = 0; d < value_width_; ++d) to[d] += from[d] * factor;
    }
  }

  /// A tile's product with fp16 sums; returns the factor that takes the operands' scaling back.
  float multiply_values_half(const float* values, std::int64_t count) {
    const float range = job_.arithmetic.value_range * static_cast<float>(job_.arithmetic.key_tile);
    if (range <= 0.0F) {
      multiply_half(scores_.data(), job_.key_step, values, value_width_, tile_sums_.data(), value_width_, count);
      return 1.0F;
    }
    const float scale = 1.0F / std::sqrt(range);
    scale_operands(scores_, scale);
    narrow_.assign(values, values + count * value_width_);
    scale_operands(narrow_, scale);
    multiply_half(scores_.data(), job_.key_step, narrow_.data(), value_width_, tile_sums_.data(), value_width_, count);
    return range;
  }

  /// c = a * b with sums that live in fp16 between the matrix instructions.
  void multiply_half(const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* c,
                     std::int64_t c_step, std::int64_t depth) const {
    if (depth == 0) std::fill(c, c + rows_ * c_step, 0.0F);
    for (std::int64_t k = 0; k < depth; k += kInstructionDepth) {
      job_.math.multiply(a + k, a_step, b + k * b_step, b_step, c, c_step, rows_,
                         std::min(kInstructionDepth, depth - k), c_step, k > 0);
      job_.math.round_half_row(c, rows_ * c_step);
    }
  }

  void write() {
    const TensorView& out = job_.call.output;
    const std::int64_t offset = head_offset(out, batch_, query_head_);
    const std::vector<float>& channels = head_.operands.channel_factor;
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = sums_.data() + i * value_width_;
      const float sum = states_[static_cast<std::size_t>(i)].sum;
      job_.math.multiply_row(row, value_width_, sum == 0.0F ? 0.0F : 1.0F / sum);
      for (std::size_t d = 0; d < channels.size(); ++d) row[d] *= channels[d];
      job_.operands.finish_row(row);
      store_row(out, offset, first_query_ + i, row);
    }
  }

  const Job& job_;
  const HeadTiles& head_;
  std::int64_t batch_;
  std::int64_t query_head_;
  std::int64_t value_width_;
  std::int64_t first_query_ = 0;
  std::int64_t rows_ = 0;
  QueryOperands queries_;
  std::vector<float> scores_;
  std::vector<float> sums_;
  std::vector<float> tile_sums_;
  std::vector<float> narrow_;
  std::vector<float> row_factor_;
  std::vector<RowState> states_;
};

/// All query heads that read one key/value head.
void attend_group(const Job& job, std::int64_t batch, std::int64_t kv_head) {
  const HeadTiles head = load_head(job, batch, kv_head);
  const std::int64_t group = job.sizes.heads / job.sizes.kv_heads;
  const std::int64_t tile = job.arithmetic.query_tile;
  const std::int64_t tiles = (job.sizes.query_tokens + tile - 1) / tile;
  parallel_range(group * tiles, 0, [&](std::int64_t at, std::int64_t end) {
    while (at < end) {
      const std::int64_t in_group = at / tiles;
      TilePass pass(job, head, batch, kv_head * group + in_group);
      for (; at < end && at / tiles == in_group; ++at) pass.run(at % tiles * tile);
    }
  });
}

}  // namespace

void ExactOperands::load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const {
  const CallSizes sizes = sizes_of(call_);
  out.key_width = sizes.head_dim;
  out.value_width = padded(sizes.value_dim);
  out.keys.resize(static_cast<std::size_t>(sizes.key_tokens * out.key_width));
  out.values.assign(static_cast<std::size_t>(sizes.key_tokens * out.value_width), 0.0F);
  load_rows(call_.key, head_offset(call_.key, batch, kv_head), 0, sizes.key_tokens, out.keys.data(), out.key_width);
  load_rows(call_.value, head_offset(call_.value, batch, kv_head), 0, sizes.key_tokens, out.values.data(),
            out.value_width);
}

void ExactOperands::load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                                 QueryOperands& out) const {
  out.rows.resize(static_cast<std::size_t>(count * call_.head_dim()));
  load_rows(call_.query, head_offset(call_.query, batch, head), first, count, out.rows.data(), call_.head_dim());
}

void tiled_attention(const AttentionCall& call, const BlockSelection* selection, const OperandSource& operands,
                     const Arithmetic& arithmetic) {
  Job job{call, selection, operands, arithmetic, sizes_of(call), 0, tile_math()};
  if (selection != nullptr) {
    job.arithmetic.query_tile = tile_within(selection->block_q, arithmetic.query_tile);
    job.arithmetic.key_tile = tile_within(selection->block_kv, arithmetic.key_tile);
  }
  job.key_step = padded(job.arithmetic.key_tile);
  const CallSizes& sizes = job.sizes;
  if (sizes.batch * sizes.heads * sizes.query_tokens == 0 || sizes.value_dim == 0) return;
  parallel_range(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      // Isolated, so that a thread that waits here does not load another head meanwhile.
      tbb::this_task_arena::isolate([&] { attend_group(job, at / sizes.kv_heads, at % sizes.kv_heads); });
    }
  });
}

}  // namespace attn
