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
#include "backends/simd/pair_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace {

/// base-2 logits from a call's products.
float ScoreFactor(const TileTask& t) {
  // Without a head_dim there is nothing to scale, and 1/sqrt(0) must not reach the zeros.
  const double scale = t.sizes.head_dim == 0 ? 0.0 : t.call.effective_scale();
  return static_cast<float>(scale * std::numbers::log2e);
}

/// Scores in fp32, from inputs of any dtype.
class FloatScores {
 public:
  FloatScores(const TileTask& task, const ExactScratch& scratch)
      : t_(task), s_(scratch), key_offset_(head_offset(task.call.key, task.batch, task.kv_head())) {}

  [[nodiscard]] std::int64_t Depth() const { return t_.sizes.head_dim; }

  void LoadQueries() const {
    LoadRows(t_.call.query, head_offset(t_.call.query, t_.batch, t_.head), t_.first_row, t_.rows, ScoreFactor(t_),
             s_.queries, Depth());
  }

  void PackKeyRows(std::int64_t first, const Panel& panel) const {
    LoadRows(t_.call.key, key_offset_, first + panel.first, panel.count, 1.0F, s_.staging, Depth());
    PackKeys(s_.staging, Depth(), panel.count, Depth(), panel.vectors * kLanes, panel.data);
  }

  template <int kRows, int kVectors, class Bias>
  void Rows(std::int64_t row, const Panel& panel, float* scores, std::int64_t step, Bias bias) const {
    ScoreRows<kRows, kVectors>(s_.queries + row * Depth(), Depth(), panel.data, Depth(), scores, step, bias);
  }

 private:
  const TileTask& t_;
  const ExactScratch& s_;
  std::int64_t key_offset_;
};

/// Scores from queries and keys that are bfloat16 with unit last stride, two channels at a time.
class PairScores {
 public:
  PairScores(const TileTask& task, const ExactScratch& scratch)
      : t_(task),
        s_(scratch),
        words_((task.sizes.head_dim + 1) / 2),
        factor_(ScoreFactor(task)),
        key_offset_(head_offset(task.call.key, task.batch, task.kv_head())) {}

  [[nodiscard]] std::int64_t Depth() const { return words_; }

  void LoadQueries() const {
    CopyPairs(t_.call.query, head_offset(t_.call.query, t_.batch, t_.head), t_.first_row, t_.rows, s_.queries);
  }

  void PackKeyRows(std::int64_t first, const Panel& panel) const {
    CopyPairs(t_.call.key, key_offset_, first + panel.first, panel.count, s_.staging);
    // Words move as floats do: only their places change.
    PackKeys(s_.staging, words_, panel.count, words_, panel.vectors * kLanes, panel.data);
  }

  template <int kRows, int kVectors, class Bias>
  void Rows(std::int64_t row, const Panel& panel, float* scores, std::int64_t step, Bias bias) const {
    ScorePairRows<PairInstruction, kRows, kVectors>(reinterpret_cast<const std::int32_t*>(s_.queries) + row * words_,
                                                    words_, reinterpret_cast<const std::int32_t*>(panel.data), words_,
                                                    factor_, scores, step, bias);
  }

 private:
  void CopyPairs(const TensorView& view, std::int64_t offset, std::int64_t first, std::int64_t rows, float* to) const {
    const std::int64_t width = t_.sizes.head_dim;
    auto* out = reinterpret_cast<std::uint16_t*>(to);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto* from = static_cast<const std::uint16_t*>(view.data) + offset + (first + i) * view.step(-2);
      std::memcpy(out + i * 2 * words_, from, static_cast<std::size_t>(width) * sizeof(std::uint16_t));
      if (width % 2 != 0) out[i * 2 * words_ + width] = 0;
    }
  }

  const TileTask& t_;
  const ExactScratch& s_;
  std::int64_t words_;
  float factor_;
  std::int64_t key_offset_;
};

/// Scores of either kind, values in fp32.
template <class Scores>
class ExactOperands {
 public:
  ExactOperands(const TileTask& task, const ExactScratch& scratch)
      : t_(task),
        s_(scratch),
        value_step_((task.sizes.value_dim + kPanelUnit - 1) / kPanelUnit * kPanelUnit),
        scores_(task, scratch),
        values_(task, task.sizes.value_dim, value_step_, scratch.values, scratch.staging) {}

  void LoadQueries() {
    scores_.LoadQueries();
    std::fill_n(s_.sums, t_.rows * value_step_, 0.0F);
  }

  void PackBlock(std::int64_t first, std::int64_t count, Panel* panels, const bool* needed, int panel_count) {
    float* data = s_.keys;
    for (int p = 0; p < panel_count; ++p) {
      Panel& panel = panels[p];
      panel.data = data;
      data += panel.vectors * kLanes * scores_.Depth();
      if (needed[p]) scores_.PackKeyRows(first, panel);
    }
    values_.Pack(first, count, panels, needed, panel_count, [](float*) {});
  }

  template <class Fetch>
  void Score(const TileKeys& keys, std::int64_t row, std::int64_t rows, Fetch fetch) const {
    for (int i = 0; i < keys.kept_count; ++i) {
      const Panel& panel = *keys.kept[i];
      WithVectors(panel.vectors, [&](auto vectors) {
        constexpr int kVectors = decltype(vectors)::value;
        ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
          constexpr int kRows = decltype(group)::value;
          WithBias(fetch(panel, at, kRows), [&](auto bias) {
            scores_.template Rows<kRows, kVectors>(row + at, panel, t_.scores + at * keys.columns + panel.column,
                                                   keys.columns, bias);
          });
        });
      });
    }
  }

  void Soften(const TileKeys& keys, std::int64_t row, std::int64_t in_tile, float largest) const {
    SoftenInPlace(t_, keys, row, in_tile, largest);
  }

  void AddValues(const TileKeys& keys, std::int64_t row, std::int64_t rows) { values_.Add(keys, row, rows, s_.sums); }

  void Finish() const { StoreNormalisedRows(t_, s_.sums, value_step_); }

 private:
  const TileTask& t_;
  const ExactScratch& s_;
  std::int64_t value_step_;
  Scores scores_;
  FloatValues values_;
};

template <class Scores>
void RunTask(const TileTask& task, const ExactScratch& scratch) {
  ExactOperands<Scores> operands(task, scratch);
  AttentionPass<ExactOperands<Scores>>(task, operands).Run();
}

/// Sixteen chains of products in registers: the time of either way without memory.
template <class Step>
HWY_NOINLINE float Chains(std::int64_t steps, Step step) {
  VF sum[16];
  for (VF& one : sum) one = hn::Zero(DF());
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < 16; ++c) sum[c] = step(sum[c]);
  }
  VF total = hn::Zero(DF());
  for (const VF& one : sum) total = hn::Add(total, one);
  return hn::GetLane(hn::SumOfLanes(DF(), total));
}

}  // namespace

void RunExactTask(const TileTask& task, const ExactScratch& scratch) { RunTask<FloatScores>(task, scratch); }
void RunPairTask(const TileTask& task, const ExactScratch& scratch) { RunTask<PairScores>(task, scratch); }

float SpinProducts(bool pairs, std::int64_t steps) {
  const VF one = hn::Set(DF(), 1.0F + static_cast<float>(steps) * 1e-9F);
  const VI words = hn::BitCast(DI(), one);
  if (pairs) return Chains(steps, [&](VF sum) { return PairInstruction::Add(sum, words, words); });
  return Chains(steps, [&](VF sum) { return hn::MulAdd(one, one, sum); });
}

void Exp2Row(const float* x, std::int64_t count, float* out) {
  const DF d;
  for (std::int64_t i = 0; i < count; i += kLanes) hn::StoreU(Exp2(d, hn::LoadU(d, x + i)), d, out + i);
}

float SoftmaxOneRow(float* scores, std::int64_t count, float* maximum, float* sum) {
  return SoftmaxRow(scores, count, LargestScore(scores, count, *maximum), maximum, sum);
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

void MultiplyPairPanel(bool instruction, int vectors, const std::int32_t* queries, std::int64_t query_step,
                       const std::int32_t* panel, std::int64_t rows, std::int64_t words, float factor, float* scores,
                       std::int64_t score_step) {
  WithVectors(vectors, [&](auto width) {
    constexpr int kVectors = decltype(width)::value;
    ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
      constexpr int kRows = decltype(group)::value;
      const std::int32_t* from = queries + at * query_step;
      float* to = scores + at * score_step;
      if (instruction) {
        ScorePairRows<PairInstruction, kRows, kVectors>(from, query_step, panel, words, factor, to, score_step,
                                                        NoBias());
      } else {
        ScorePairRows<PairWidened, kRows, kVectors>(from, query_step, panel, words, factor, to, score_step, NoBias());
      }
    });
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
          kHasPairs,
          RunExactTask,
          RunPairTask,
          SpinProducts,
          Exp2Row,
          SoftmaxOneRow,
          LoadOneRow,
          PackKeyPanel,
          MultiplyScorePanel,
          MultiplyPairPanel,
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
