// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: one task of attention, whatever the number formats of its operands.
#if defined(ATTN_ATTENTION_PASS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ATTENTION_PASS_INL_H
#undef ATTN_ATTENTION_PASS_INL_H
#else
#define ATTN_ATTENTION_PASS_INL_H
#endif

#include "backends/simd/tile_packing-inl.h"
#include "backends/simd/tile_products-inl.h"
#include "backends/simd/tile_softmax-inl.h"
#include "backends/simd/tile_task.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numbers>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr float kLog2E = static_cast<float>(std::numbers::log2e);
constexpr int kMaxPanels = 1024;

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

/// Rows of a (batch, head) in fp32, multiplied by `factor`. `offset` in elements.
HWY_INLINE void LoadRows(const TensorView& view, std::int64_t offset, std::int64_t first, std::int64_t rows,
                         float factor, float* to, std::int64_t step) {
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

/// The keys of a block that a tile computes: panels in a row of score columns, and the stretches they form.
struct TileKeys {
  Panel* kept[kMaxPanels];
  Stretch stretches[kMaxPanels];
  int kept_count = 0;
  std::int64_t stretch_count = 0;
  std::int64_t columns = 0;

  void Clear() { kept_count = 0, stretch_count = 0, columns = 0; }
  void Add(Panel& panel) {
    panel.column = columns;
    kept[kept_count++] = &panel;
    columns += panel.vectors * kLanes;
    if (stretch_count > 0) {
      Stretch& before = stretches[stretch_count - 1];
      if (before.column + before.keys == panel.column && before.key + before.keys == panel.first) {
        before.keys += panel.count;
        return;
      }
    }
    stretches[stretch_count++] = {panel.column, panel.first, panel.count};
  }
  /// Column behind the padding of a stretch.
  [[nodiscard]] std::int64_t End(std::int64_t i) const {
    return i + 1 < stretch_count ? stretches[i + 1].column : columns;
  }
};

/// Walks a task's keys block by block with an online softmax. `Operands` knows the number formats: it loads queries,
/// packs a block, multiplies a tile's scores and adds its values.
template <class Operands>
class AttentionPass {
 public:
  AttentionPass(const TileTask& task, Operands& operands) : t_(task), operands_(operands) {}

  void Run() {
    operands_.LoadQueries();
    std::fill_n(t_.row_maximum, t_.rows, kNone);
    std::fill_n(t_.row_sum, t_.rows, 0.0F);
    std::int64_t keys = t_.sizes.key_tokens;
    if (t_.call.is_causal) keys = std::min(keys, t_.first_row + t_.rows);
    for (std::int64_t first = 0; first < keys; first += t_.tiling.block_keys) {
      AddBlock(first, std::min(t_.tiling.block_keys, t_.sizes.key_tokens - first));
    }
    operands_.Finish();
  }

 private:
  void AddBlock(std::int64_t first, std::int64_t count) {
    panel_count_ = 0;
    const std::int64_t tile = t_.selection != nullptr ? t_.selection->block_kv : count;
    for (std::int64_t start = 0; start < count; start += tile) {
      SplitPanels(std::min(tile, count - start), [&](std::int64_t at, std::int64_t keys, int vectors) {
        panels_[panel_count_++] = {start + at, keys, vectors, 0, nullptr};
      });
    }
    MarkNeeded(first);
    operands_.PackBlock(first, count, panels_, needed_, panel_count_);
    for (std::int64_t row = 0; row < t_.rows; row += t_.tiling.tile_rows) {
      AddTile(first, row, std::min(t_.tiling.tile_rows, t_.rows - row));
    }
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

  void AddTile(std::int64_t first, std::int64_t row, std::int64_t rows) {
    keys_.Clear();
    const std::int64_t last_row = t_.first_row + row + rows - 1;
    for (int p = 0; p < panel_count_; ++p) {
      Panel& panel = panels_[p];
      if (!needed_[p] || !Kept(first, panel, row)) continue;
      if (t_.call.is_causal && first + panel.first > last_row) continue;
      if (t_.call.attn_mask && !AnyAllowed(first + panel.first, panel.count, row, rows)) continue;
      keys_.Add(panel);
    }
    if (keys_.columns == 0) return;
    operands_.Score(keys_, row, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      HideKeys(first, row + r, t_.scores + r * keys_.columns);
      operands_.Soften(keys_, row, r);
    }
    operands_.AddValues(keys_, row, rows);
  }

  /// Padding, mask and causal: minus infinity where a key is not allowed.
  void HideKeys(std::int64_t first, std::int64_t row, float* scores) {
    for (std::int64_t i = 0; i < keys_.stretch_count; ++i) {
      const Stretch& stretch = keys_.stretches[i];
      float* at = scores + stretch.column;
      std::fill(at + stretch.keys, scores + keys_.End(i), kNone);
      if (t_.call.attn_mask) ApplyMask(first + stretch.key, stretch.keys, row, at);
      if (t_.call.is_causal) {
        const std::int64_t allowed = t_.first_row + row + 1 - (first + stretch.key);
        std::fill(at + std::clamp<std::int64_t>(allowed, 0, stretch.keys), at + stretch.keys, kNone);
      }
    }
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
      HideWhereZero(allowed, count, scores);
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

  /// Explicit vectors: left to the compiler, this loop takes as long as the softmax.
  static void HideWhereZero(const std::uint8_t* allowed, std::int64_t count, float* scores) {
    const DF d;
    const hn::Rebind<std::uint8_t, DF> d8;
    const VF none = hn::Set(d, kNone);
    std::int64_t j = 0;
    for (; j + kLanes <= count; j += kLanes) {
      const auto wide = hn::PromoteTo(DI(), hn::LoadU(d8, allowed + j));
      const auto hidden = hn::RebindMask(d, hn::Eq(wide, hn::Zero(DI())));
      hn::StoreU(hn::IfThenElse(hidden, none, hn::LoadU(d, scores + j)), d, scores + j);
    }
    for (; j < count; ++j) scores[j] = allowed[j] != 0 ? scores[j] : kNone;
  }

  static void AddBias(const float* bias, std::int64_t count, float* scores) {
    const DF d;
    const VF lowest = hn::Set(d, std::numeric_limits<float>::lowest());
    const VF none = hn::Set(d, kNone);
    const VF to_base_two = hn::Set(d, kLog2E);
    std::int64_t j = 0;
    for (; j + kLanes <= count; j += kLanes) {
      const VF added = hn::LoadU(d, bias + j);
      const VF bounded = hn::Max(lowest, hn::Mul(added, to_base_two));
      const VF sum = hn::Max(lowest, hn::Add(hn::LoadU(d, scores + j), bounded));
      hn::StoreU(hn::IfThenElse(hn::Eq(added, none), none, sum), d, scores + j);
    }
    for (; j < count; ++j) {
      constexpr float kLowest = std::numeric_limits<float>::lowest();
      const float sum = std::max(kLowest, scores[j] + std::max(kLowest, bias[j] * kLog2E));
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

  static constexpr std::int64_t kBiasRun = 64;

  const TileTask& t_;
  Operands& operands_;
  TileKeys keys_;
  Panel panels_[kMaxPanels];
  bool needed_[kMaxPanels];
  int panel_count_ = 0;
};

/// The online softmax of one row of a tile, in place.
HWY_INLINE void SoftenInPlace(const TileTask& t, const TileKeys& keys, std::int64_t row, std::int64_t in_tile) {
  t.row_rescale[row + in_tile] = SoftmaxRow(t.scores + in_tile * keys.columns, keys.columns,
                                            t.row_maximum + row + in_tile, t.row_sum + row + in_tile);
}

/// Stores the rows of a task in the output's dtype.
HWY_INLINE void StoreRows(const TileTask& t, const float* sums, std::int64_t step) {
  const TensorView& out = t.call.output;
  const std::int64_t offset = head_offset(out, t.batch, t.head);
  if (out.dtype == DType::float32 && out.step(-1) == 1) {
    auto* to = static_cast<float*>(out.data) + offset + t.first_row * out.step(-2);
    const auto bytes = static_cast<std::size_t>(t.sizes.value_dim) * sizeof(float);
    for (std::int64_t r = 0; r < t.rows; ++r) std::memcpy(to + r * out.step(-2), sums + r * step, bytes);
    return;
  }
  for (std::int64_t r = 0; r < t.rows; ++r) store_row(out, offset, t.first_row + r, sums + r * step);
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
