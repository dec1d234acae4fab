// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled once per instruction set: one task of exact attention, and the table that leads to the best set.
#include "backends/simd/exact_tiles.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numbers>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/simd/exact_tiles.cpp"
#include <hwy/foreach_target.h>
// Highway asks for this order.
#include <hwy/highway.h>

#include "backends/simd/tile_packing-inl.h"
#include "backends/simd/tile_products-inl.h"
#include "backends/simd/tile_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr float kLog2E = static_cast<float>(std::numbers::log2e);

/// A stretch of keys, or of value channels, that one product call serves.
struct Panel {
  std::int64_t first;   ///< key in the block, or channel
  std::int64_t count;   ///< keys or channels that are there
  int vectors;          ///< width with padding
  std::int64_t column;  ///< of the score tile (keys) or the result (channels)
  float* data;
};

/// Panels of nearly equal width that together hold `count` columns, none wider than the registers allow.
template <class Emit>
void SplitPanels(std::int64_t count, Emit emit) {
  std::int64_t vectors = (count + kLanes - 1) / kLanes;
  std::int64_t panels = (vectors + kPanelVectors - 1) / kPanelVectors;
  // One vector too many for n panels: widening all of them a little beats a panel of one vector.
  if (vectors > kPanelVectors && vectors % kPanelVectors == 1) panels = (vectors + kMaxVectors - 1) / kMaxVectors;
  std::int64_t at = 0;
  for (; panels > 0; --panels) {
    const std::int64_t width = (vectors + panels - 1) / panels;
    emit(at, std::min(width * kLanes, count - at), static_cast<int>(width));
    at += width * kLanes;
    vectors -= width;
  }
}

class Task {
 public:
  Task(const ExactTask& task, const ExactScratch& scratch)
      : t_(task), s_(scratch), value_step_((task.sizes.value_dim + kLanes - 1) / kLanes * kLanes) {}

  void Run() {
    LoadQueries();
    std::int64_t keys = t_.sizes.key_tokens;
    if (t_.call.is_causal) keys = std::min(keys, t_.first_row + t_.rows);
    for (std::int64_t first = 0; first < keys; first += t_.tiling.block_keys) {
      AddBlock(first, std::min(t_.tiling.block_keys, t_.sizes.key_tokens - first));
    }
    Finish();
  }

 private:
  float* Maximum() const { return s_.row; }
  float* Sum() const { return s_.row + t_.tiling.task_rows; }
  float* Rescale() const { return s_.row + 2 * t_.tiling.task_rows; }

  void LoadRows(const TensorView& view, std::int64_t offset, std::int64_t first, std::int64_t rows, float factor,
                float* to, std::int64_t step) const {
    const std::int64_t width = view.size(-1);
    const bool plain = view.dtype == DType::float32 || view.dtype == DType::float16 || view.dtype == DType::bfloat16;
    if (plain && (view.step(-1) == 1 || width == 1)) {
      const auto bytes = static_cast<std::int64_t>(size_of(view.dtype));
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto* from = static_cast<const std::byte*>(view.data) + (offset + (first + i) * view.step(-2)) * bytes;
        LoadRow(view.dtype, from, width, factor, to + i * step);
      }
      return;
    }
    load_rows(view, offset, first, rows, to, step);
    for (std::int64_t i = 0; i < rows; ++i) ScaleRow(to + i * step, width, factor, to + i * step);
  }

  void LoadQueries() {
    const auto factor = static_cast<float>(t_.call.effective_scale() * std::numbers::log2e);
    LoadRows(t_.call.query, head_offset(t_.call.query, t_.batch, t_.head), t_.first_row, t_.rows, factor, s_.queries,
             t_.sizes.head_dim);
    std::fill_n(s_.sums, t_.rows * value_step_, 0.0F);
    std::fill_n(Maximum(), t_.rows, kNone);
    std::fill_n(Sum(), t_.rows, 0.0F);
  }

  // --- one block of keys -----------------------------------------------------------------------------------------

  void AddBlock(std::int64_t first, std::int64_t count) {
    LayOut(first, count);
    MarkNeeded(first);
    Pack(first, count);
    for (std::int64_t row = 0; row < t_.rows; row += t_.tiling.tile_rows) {
      AddTile(first, row, std::min(t_.tiling.tile_rows, t_.rows - row));
    }
  }

  void LayOut(std::int64_t first, std::int64_t count) {
    panel_count_ = 0;
    const std::int64_t tile = t_.selection != nullptr ? t_.selection->block_kv : count;
    float* data = s_.keys;
    for (std::int64_t start = 0; start < count; start += tile) {
      SplitPanels(std::min(tile, count - start), [&](std::int64_t at, std::int64_t keys, int vectors) {
        panels_[panel_count_++] = {start + at, keys, vectors, 0, data};
        data += vectors * kLanes * t_.sizes.head_dim;
      });
    }
    (void)first;
  }

  [[nodiscard]] bool Kept(std::int64_t first, const Panel& panel, std::int64_t row) const {
    return t_.selection == nullptr ||
           t_.selection->kept(t_.batch, t_.head, (t_.first_row + row) / t_.selection->block_q,
                              (first + panel.first) / t_.selection->block_kv);
  }

  /// A panel that no tile of the task keeps is not packed.
  void MarkNeeded(std::int64_t first) {
    for (int p = 0; p < panel_count_; ++p) {
      needed_[p] = false;
      for (std::int64_t row = 0; row < t_.rows && !needed_[p]; row += t_.tiling.tile_rows) {
        needed_[p] = Kept(first, panels_[p], row);
      }
    }
  }

  void Pack(std::int64_t first, std::int64_t count) {
    const std::int64_t depth = t_.sizes.head_dim;
    const std::int64_t kv_head = t_.head / (t_.sizes.heads / t_.sizes.kv_heads);
    const std::int64_t key_offset = head_offset(t_.call.key, t_.batch, kv_head);
    const std::int64_t value_offset = head_offset(t_.call.value, t_.batch, kv_head);
    for (int p = 0; p < panel_count_; ++p) {
      if (!needed_[p]) continue;
      const Panel& panel = panels_[p];
      LoadRows(t_.call.key, key_offset, first + panel.first, panel.count, 1.0F, s_.staging, depth);
      PackKeys(s_.staging, depth, panel.count, depth, panel.vectors * kLanes, panel.data);
    }
    value_panel_count_ = 0;
    float* data = s_.values;
    SplitPanels(t_.sizes.value_dim, [&](std::int64_t at, std::int64_t channels, int vectors) {
      value_panels_[value_panel_count_++] = {at, channels, vectors, at, data};
      data += vectors * kLanes * count;
    });
    for (int p = 0; p < panel_count_; ++p) {
      if (!needed_[p]) continue;
      const Panel& keys = panels_[p];
      LoadRows(t_.call.value, value_offset, first + keys.first, keys.count, 1.0F, s_.staging, value_step_);
      for (int v = 0; v < value_panel_count_; ++v) CopyChannels(value_panels_[v], keys);
    }
  }

  void CopyChannels(const Panel& channels, const Panel& keys) const {
    const std::int64_t width = channels.vectors * kLanes;
    float* to = channels.data + keys.first * width;
    for (std::int64_t j = 0; j < keys.count; ++j, to += width) {
      std::memcpy(to, s_.staging + j * value_step_ + channels.first,
                  static_cast<std::size_t>(channels.count) * sizeof(float));
      std::fill(to + channels.count, to + width, 0.0F);
    }
  }

  // --- one tile of queries against a block -----------------------------------------------------------------------

  void AddTile(std::int64_t first, std::int64_t row, std::int64_t rows) {
    columns_ = 0;
    stretch_count_ = 0;
    const std::int64_t last_row = t_.first_row + row + rows - 1;
    for (int p = 0; p < panel_count_; ++p) {
      Panel& panel = panels_[p];
      if (!needed_[p] || !Kept(first, panel, row)) continue;
      if (t_.call.is_causal && first + panel.first > last_row) continue;
      if (t_.call.attn_mask && !AnyAllowed(first + panel.first, panel.count, row, rows)) continue;
      AddStretch(panel);
    }
    if (columns_ == 0) return;
    const float* queries = s_.queries + row * t_.sizes.head_dim;
    for (int i = 0; i < kept_count_; ++i) {
      const Panel& panel = *kept_[i];
      WithVectors(panel.vectors, [&](auto vectors) {
        ScorePanel<decltype(vectors)::value>(queries, t_.sizes.head_dim, panel.data, rows, t_.sizes.head_dim,
                                             s_.scores + panel.column, columns_);
      });
    }
    for (std::int64_t r = 0; r < rows; ++r) SoftenRow(first, row + r, s_.scores + r * columns_);
    for (int v = 0; v < value_panel_count_; ++v) {
      const Panel& channels = value_panels_[v];
      WithVectors(channels.vectors, [&](auto vectors) {
        ValuePanel<decltype(vectors)::value>(s_.scores, columns_, channels.data, stretches_, stretch_count_, rows,
                                             Rescale() + row, s_.sums + row * value_step_ + channels.column,
                                             value_step_);
      });
    }
    kept_count_ = 0;
  }

  void AddStretch(Panel& panel) {
    panel.column = columns_;
    kept_[kept_count_++] = &panel;
    columns_ += panel.vectors * kLanes;
    if (stretch_count_ > 0) {
      Stretch& before = stretches_[stretch_count_ - 1];
      if (before.column + before.keys == panel.column && before.key + before.keys == panel.first) {
        before.keys += panel.count;
        return;
      }
    }
    stretches_[stretch_count_++] = {panel.column, panel.first, panel.count};
  }

  void SoftenRow(std::int64_t first, std::int64_t row, float* scores) {
    for (std::int64_t i = 0; i < stretch_count_; ++i) {
      const Stretch& stretch = stretches_[i];
      float* at = scores + stretch.column;
      const std::int64_t end = i + 1 < stretch_count_ ? stretches_[i + 1].column : columns_;
      std::fill(at + stretch.keys, scores + end, kNone);
      if (t_.call.attn_mask) ApplyMask(first + stretch.key, stretch.keys, row, at);
      if (t_.call.is_causal) {
        const std::int64_t allowed = t_.first_row + row + 1 - (first + stretch.key);
        std::fill(at + std::clamp<std::int64_t>(allowed, 0, stretch.keys), at + stretch.keys, kNone);
      }
    }
    Rescale()[row] = SoftmaxRow(scores, columns_, Maximum() + row, Sum() + row);
  }

  // --- masks -----------------------------------------------------------------------------------------------------

  [[nodiscard]] std::int64_t MaskRow(std::int64_t row) const {
    return mask_offset(*t_.call.attn_mask, t_.call, t_.batch, t_.head, t_.first_row + row);
  }

  /// Adds the mask, in base 2. A finite mask leaves a finite score: a row of the lowest float averages its values, as
  /// it does when the scores are absorbed in base e.
  void ApplyMask(std::int64_t key, std::int64_t count, std::int64_t row, float* scores) const {
    const TensorView& mask = *t_.call.attn_mask;
    const std::int64_t step = mask.size(-1) == 1 ? 0 : mask.step(-1);
    const std::int64_t at = MaskRow(row) + key * step;
    if (mask.dtype == DType::boolean && step == 1) {
      const auto* allowed = static_cast<const std::uint8_t*>(mask.data) + at;
      for (std::int64_t j = 0; j < count; ++j) scores[j] = allowed[j] != 0 ? scores[j] : kNone;
    } else if (mask.dtype == DType::float32 && step == 1) {
      AddBias(static_cast<const float*>(mask.data) + at, count, scores);
    } else if (mask.dtype == DType::boolean) {
      apply_mask(mask, MaskRow(row), key, count, scores);
    } else {
      float bias[kBiasRun];
      for (std::int64_t j = 0; j < count; j += kBiasRun) {
        const std::int64_t run = std::min<std::int64_t>(kBiasRun, count - j);
        std::fill_n(bias, run, 0.0F);
        apply_mask(mask, MaskRow(row), key + j, run, bias);
        AddBias(bias, run, scores + j);
      }
    }
  }

  static void AddBias(const float* bias, std::int64_t count, float* scores) {
    constexpr float kLowest = std::numeric_limits<float>::lowest();
    for (std::int64_t j = 0; j < count; ++j) {
      const float sum = std::max(scores[j] + std::max(bias[j] * kLog2E, kLowest), kLowest);
      scores[j] = bias[j] == kNone ? kNone : sum;
    }
  }

  /// Whether a tile has any allowed pair. Rows that the mask repeats are looked at once.
  [[nodiscard]] bool AnyAllowed(std::int64_t key, std::int64_t count, std::int64_t row, std::int64_t rows) const {
    const TensorView& mask = *t_.call.attn_mask;
    const std::int64_t step = mask.size(-1) == 1 ? 0 : mask.step(-1);
    const std::int64_t distinct = mask.size(-2) == 1 ? 1 : rows;
    for (std::int64_t r = 0; r < distinct; ++r) {
      const std::int64_t at = MaskRow(row + r) + key * step;
      if (mask.dtype == DType::boolean && step == 1) {
        const auto* allowed = static_cast<const std::uint8_t*>(mask.data) + at;
        std::uint8_t any = 0;
        for (std::int64_t j = 0; j < count; ++j) any |= allowed[j];
        if (any != 0) return true;
      } else if (mask.dtype == DType::float32 && step == 1) {
        const auto* bias = static_cast<const float*>(mask.data) + at;
        int hidden = 0;
        for (std::int64_t j = 0; j < count; ++j) hidden += bias[j] == kNone ? 1 : 0;
        if (hidden != count) return true;
      } else {
        return true;
      }
    }
    return false;
  }

  void Finish() const {
    const TensorView& out = t_.call.output;
    const std::int64_t offset = head_offset(out, t_.batch, t_.head);
    for (std::int64_t r = 0; r < t_.rows; ++r) {
      float* sums = s_.sums + r * value_step_;
      const float total = Sum()[r];
      ScaleRow(sums, t_.sizes.value_dim, total > 0.0F ? 1.0F / total : 0.0F, sums);
      store_row(out, offset, t_.first_row + r, sums);
    }
  }

  static constexpr std::int64_t kBiasRun = 64;
  static constexpr int kMaxPanels = 1024;

  const ExactTask& t_;
  const ExactScratch& s_;
  std::int64_t value_step_;
  Panel panels_[kMaxPanels];
  bool needed_[kMaxPanels];
  Panel* kept_[kMaxPanels];
  Stretch stretches_[kMaxPanels];
  Panel value_panels_[kMaxPanels];
  int panel_count_ = 0;
  int value_panel_count_ = 0;
  int kept_count_ = 0;
  std::int64_t stretch_count_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace

void RunExactTask(const ExactTask& task, const ExactScratch& scratch) { Task(task, scratch).Run(); }

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
  return {hwy::TargetName(HWY_TARGET), static_cast<int>(kLanes), kMaxVectors,        RunExactTask,      Exp2Row,
          SoftmaxOneRow,               LoadOneRow,               PackKeyPanel,       MultiplyScorePanel, MultiplyValuePanel};
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
