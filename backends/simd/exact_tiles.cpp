// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled once per instruction set: one task of exact attention, and the table that leads to the best set.
#include "backends/simd/exact_tiles.h"

#include <algorithm>
#include <cstring>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/simd/exact_tiles.cpp"
#include <hwy/foreach_target.h>
// Highway asks for this order.
#include <hwy/highway.h>

#include "backends/simd/attention_pass-inl.h"
#include "backends/simd/float_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace {

/// fp32 operands: rows as they are, keys and values in panels.
class ExactOperands32 {
 public:
  ExactOperands32(const TileTask& task, const ExactScratch& scratch)
      : t_(task),
        s_(scratch),
        value_step_((task.sizes.value_dim + kLanes - 1) / kLanes * kLanes),
        values_(task, task.sizes.value_dim, value_step_, scratch.values, scratch.staging) {}

  void LoadQueries() {
    // Without a head_dim there is nothing to scale, and 1/sqrt(0) must not reach the zeros.
    const double scale = t_.sizes.head_dim == 0 ? 0.0 : t_.call.effective_scale();
    const auto factor = static_cast<float>(scale * std::numbers::log2e);
    LoadRows(t_.call.query, head_offset(t_.call.query, t_.batch, t_.head), t_.first_row, t_.rows, factor, s_.queries,
             t_.sizes.head_dim);
    std::fill_n(s_.sums, t_.rows * value_step_, 0.0F);
  }

  void PackBlock(std::int64_t first, std::int64_t count, Panel* panels, const bool* needed, int panel_count) {
    const std::int64_t depth = t_.sizes.head_dim;
    const std::int64_t key_offset = head_offset(t_.call.key, t_.batch, t_.kv_head());
    float* data = s_.keys;
    for (int p = 0; p < panel_count; ++p) {
      Panel& panel = panels[p];
      panel.data = data;
      data += panel.vectors * kLanes * depth;
      if (!needed[p]) continue;
      LoadRows(t_.call.key, key_offset, first + panel.first, panel.count, 1.0F, s_.staging, depth);
      PackKeys(s_.staging, depth, panel.count, depth, panel.vectors * kLanes, panel.data);
    }
    values_.Pack(first, count, panels, needed, panel_count, [](float*) {});
  }

  void Score(const TileKeys& keys, std::int64_t row, std::int64_t rows) const {
    const float* queries = s_.queries + row * t_.sizes.head_dim;
    for (int i = 0; i < keys.kept_count; ++i) {
      const Panel& panel = *keys.kept[i];
      WithVectors(panel.vectors, [&](auto vectors) {
        ScorePanel<decltype(vectors)::value>(queries, t_.sizes.head_dim, panel.data, rows, t_.sizes.head_dim,
                                             t_.scores + panel.column, keys.columns);
      });
    }
  }

  void Soften(const TileKeys& keys, std::int64_t row, std::int64_t in_tile) const {
    SoftenInPlace(t_, keys, row, in_tile);
  }

  void AddValues(const TileKeys& keys, std::int64_t row, std::int64_t rows) { values_.Add(keys, row, rows, s_.sums); }

  void Finish() const {
    NormaliseRows(t_, t_.sizes.value_dim, s_.sums, value_step_);
    StoreRows(t_, s_.sums, value_step_);
  }

 private:
  const TileTask& t_;
  const ExactScratch& s_;
  std::int64_t value_step_;
  FloatValues values_;
};

}  // namespace

void RunExactTask(const TileTask& task, const ExactScratch& scratch) {
  ExactOperands32 operands(task, scratch);
  AttentionPass<ExactOperands32>(task, operands).Run();
}

void Exp2Row(const float* x, std::int64_t count, float* out) {
  const DF d;
  for (std::int64_t i = 0; i < count; i += kLanes) hn::StoreU(Exp2(d, hn::LoadU(d, x + i)), d, out + i);
}

float SoftmaxOneRow(float* scores, std::int64_t count, float* maximum, float* sum) {
  return SoftmaxRow(scores, count, maximum, sum);
}

void LoadOneRow(DType dtype, const void* from, std::int64_t count, float factor, float* to) {
  LoadRow(dtype, from, count, factor, to);
}

void PackKeyPanel(const float* rows, std::int64_t row_step, std::int64_t keys, std::int64_t depth, int vectors,
                  float* panel) {
  PackKeys(rows, row_step, keys, depth, vectors * kLanes, panel);
}

void MultiplyScorePanel(int vectors, const float* queries, std::int64_t query_step, const float* panel,
                        std::int64_t rows, std::int64_t depth, float* scores, std::int64_t score_step) {
  WithVectors(vectors, [&](auto width) {
    ScorePanel<decltype(width)::value>(queries, query_step, panel, rows, depth, scores, score_step);
  });
}

void MultiplyValuePanel(int vectors, const float* probabilities, std::int64_t probability_step, const float* panel,
                        const Stretch* stretches, std::int64_t count, std::int64_t rows, const float* rescale,
                        float* out, std::int64_t out_step) {
  WithVectors(vectors, [&](auto width) {
    ValuePanel<decltype(width)::value>(probabilities, probability_step, panel, stretches, count, rows, rescale, out,
                                       out_step);
  });
}

ExactTiles MakeTiles() {
  return {hwy::TargetName(HWY_TARGET),
          static_cast<int>(kLanes),
          kMaxVectors,
          RunExactTask,
          Exp2Row,
          SoftmaxOneRow,
          LoadOneRow,
          PackKeyPanel,
          MultiplyScorePanel,
          MultiplyValuePanel};
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {

HWY_EXPORT(MakeTiles);

ExactTiles exact_tiles() noexcept { return HWY_DYNAMIC_DISPATCH(MakeTiles)(); }

}  // namespace attn
#endif
