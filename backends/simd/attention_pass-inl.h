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
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr int kMaxPanels = 2048;
static_assert(kMaxVectors * kLanes <= kMostPanelKeys);

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
  constexpr std::int64_t kUnitVectors = kPanelUnit / kLanes;
  std::int64_t vectors = (count + kPanelUnit - 1) / kPanelUnit * kUnitVectors;
  std::int64_t panels = (vectors + kPanelVectors - 1) / kPanelVectors;
  // One vector too many for n panels: widening all of them a little beats a panel of one vector.
  if (vectors > kPanelVectors && vectors % kPanelVectors == 1) panels = (vectors + kMaxVectors - 1) / kMaxVectors;
  std::int64_t at = 0;
  for (; panels > 0; --panels) {
    const std::int64_t width = (vectors / kUnitVectors + panels - 1) / panels * kUnitVectors;
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
/// packs a block, multiplies a tile's scores, with the additive mask that it is handed, and adds its values.
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
    const std::int64_t tile = t_.tiling.key_tile;
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
    const std::int64_t most = t_.tiling.score_columns();
    for (int p = 0; p < panel_count_; ++p) {
      Panel& panel = panels_[p];
      if (!needed_[p] || !Kept(first, panel, row)) continue;
      if (t_.call.is_causal && first + panel.first > last_row) continue;
      if (t_.call.attn_mask && !AnyAllowed(first + panel.first, panel.count, row, rows)) continue;
      if (keys_.columns + panel.vectors * kLanes > most) AddKept(first, row, rows);
      keys_.Add(panel);
    }
    AddKept(first, row, rows);
  }

  /// Scores, softmax and values of the panels gathered so far.
  void AddKept(std::int64_t first, std::int64_t row, std::int64_t rows) {
    if (keys_.columns == 0) return;
    operands_.Score(keys_, row, rows, [&](const Panel& panel, std::int64_t at, std::int64_t count) {
      if (!t_.call.attn_mask) return AddedBias();
      if (!additive_ || !InPlace(first, panel, row + at, count)) {
        FetchMask(first + panel.first, panel.count, row + at, count);
        return additive_ ? BiasRows(first, panel, row + at, count) : AddedBias();
      }
      if (at == 0) FetchMask(first + panel.first, panel.count, row, count);
      AddedBias bias = BiasRows(first, panel, row + at, count);
      bias.ahead = at + count < rows ? bias.mask + count * bias.step : bias.mask;
      return bias;
    });
    for (std::int64_t r = 0; r < rows; ++r) {
      operands_.Soften(keys_, row, r, HideKeys(first, row + r, t_.scores + r * keys_.columns));
    }
    operands_.AddValues(keys_, row, rows);
    keys_.Clear();
  }

  /// Padding, what a mask leaves to do, and causal: minus infinity where a key is not allowed. Returns the largest
  /// score that is left.
  float HideKeys(std::int64_t first, std::int64_t row, float* scores) {
    float largest = kNone;
    for (std::int64_t i = 0; i < keys_.stretch_count; ++i) {
      const Stretch& stretch = keys_.stretches[i];
      float* at = scores + stretch.column;
      std::fill(at + stretch.keys, scores + keys_.End(i), kNone);
      if (boolean_) largest = LargerOf(largest, HideForbidden(first + stretch.key, stretch.keys, row, at));
    }
    if (!boolean_) largest = LargestScore(scores, keys_.columns, kNone);
    if (additive_ && largest == kNone) largest = RaiseAllowed(first, row, scores);
    if (!t_.call.is_causal) return largest;
    for (std::int64_t i = 0; i < keys_.stretch_count; ++i) {
      const Stretch& stretch = keys_.stretches[i];
      float* at = scores + stretch.column;
      const std::int64_t allowed = t_.first_row + row + 1 - (first + stretch.key);
      std::fill(at + std::clamp<std::int64_t>(allowed, 0, stretch.keys), at + stretch.keys, kNone);
    }
    return LargestScore(scores, keys_.columns, kNone);
  }

  // --- masks -----------------------------------------------------------------------------------------------------

  [[nodiscard]] std::int64_t MaskOffset(std::int64_t row) const {
    return mask_offset(*t_.call.attn_mask, t_.call, t_.batch, t_.head, t_.first_row + row);
  }
  [[nodiscard]] std::int64_t MaskRow(std::int64_t row) const { return mask_base_ + row * mask_step_; }

  /// A mask's rows lie far apart and each is read once per tile, so that no prefetcher sees them come, and a large mask
  /// comes from memory for every head. Asked for while the scores are multiplied, it arrives in time: in the second
  /// cache, because rows a power of two apart share the few places of the first. Inline, because a function that does
  /// nothing but ask ahead counts as one without effect, and gcc drops its calls.
  HWY_INLINE void FetchMask(std::int64_t key, std::int64_t keys, std::int64_t row, std::int64_t rows) const {
    const TensorView& mask = *t_.call.attn_mask;
    if (mask.size(-1) == 1 || mask.step(-1) != 1 || (mask.size(-2) == 1 && row > 0)) return;
    const auto bytes = static_cast<std::int64_t>(size_of(mask.dtype));
    const auto* base = static_cast<const char*>(mask.data);
    for (std::int64_t r = 0; r < rows; ++r) {
      const char* at = base + (MaskRow(row + r) + key) * bytes;
      for (const char* end = at + keys * bytes; at < end; at += kCacheLine) __builtin_prefetch(at, 0, 2);
    }
  }

  /// A boolean mask on a row of scores; returns the largest that is left.
  float HideForbidden(std::int64_t key, std::int64_t count, std::int64_t row, float* scores) const {
    const TensorView& mask = *t_.call.attn_mask;
    if (mask.size(-1) != 1 && mask.step(-1) == 1) {
      return HideWhereZero(static_cast<const std::uint8_t*>(mask.data) + MaskRow(row) + key, count, scores);
    }
    apply_mask(mask, MaskRow(row), key, count, scores);
    float largest = kNone;
    for (std::int64_t j = 0; j < count; ++j) largest = LargerOf(largest, scores[j]);
    return largest;
  }

  /// Whether rows of an additive mask can be added from where they lie: fp32, key by key, and as wide as the panel.
  /// What lies behind a row's last key is read then, inside the tensor; its sums are those of padding.
  [[nodiscard]] bool InPlace(std::int64_t first, const Panel& panel, std::int64_t row, std::int64_t rows) const {
    const TensorView& mask = *t_.call.attn_mask;
    if (mask.dtype != DType::float32 || mask.size(-1) == 1 || mask.step(-1) != 1) return false;
    const std::int64_t width = panel.vectors * kLanes;
    return panel.count == width || MaskRow(row + rows - 1) + first + panel.first + width <= mask_end_;
  }

  /// Elements from a tensor's first to behind its last; 0 where it is walked backwards.
  [[nodiscard]] static std::int64_t Span(const TensorView& view) {
    std::int64_t end = 1;
    for (int d = 1; d <= view.rank; ++d) {
      if (view.step(-d) < 0) return 0;
      end += (view.size(-d) - 1) * view.step(-d);
    }
    return end;
  }

  /// Where an additive mask lies for some rows and a panel's keys: in place, else a copy in fp32. `first` of the block.
  AddedBias BiasRows(std::int64_t first, const Panel& panel, std::int64_t row, std::int64_t rows) {
    const TensorView& mask = *t_.call.attn_mask;
    const std::int64_t key = first + panel.first;
    if (InPlace(first, panel, row, rows)) {
      const float* at = static_cast<const float*>(mask.data) + MaskRow(row) + key;
      return {at, mask_step_, at};
    }
    const std::int64_t width = panel.vectors * kLanes;
    const bool in_line = mask.size(-1) != 1 && mask.step(-1) == 1;
    const bool loads = mask.dtype == DType::float32 || mask.dtype == DType::float16 || mask.dtype == DType::bfloat16;
    const auto bytes = static_cast<std::int64_t>(size_of(mask.dtype));
    std::fill_n(bias_, rows * width, 0.0F);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (in_line && loads) {
        const auto* from = static_cast<const std::byte*>(mask.data) + (MaskRow(row + r) + key) * bytes;
        LoadRow(mask.dtype, from, panel.count, 1.0F, bias_ + r * width);
      } else {
        apply_mask(mask, MaskRow(row + r), key, panel.count, bias_ + r * width);
      }
    }
    return {bias_, width, bias_};
  }

  /// A row of which nothing is left may still hold keys that are allowed, with a mask so low that the sum overflowed. A
  /// finite mask leaves a finite score: a row of the lowest float averages its values, as it does when the scores are
  /// absorbed in base e.
  float RaiseAllowed(std::int64_t first, std::int64_t row, float* scores) {
    float largest = kNone;
    for (int p = 0; p < keys_.kept_count; ++p) {
      const Panel& panel = *keys_.kept[p];
      const float* bias = BiasRows(first, panel, row, 1).mask;
      float* at = scores + panel.column;
      for (std::int64_t j = 0; j < panel.count; ++j) {
        // What is no number stays so.
        if (at[j] == kNone && bias[j] != kNone) at[j] = std::numeric_limits<float>::lowest();
        largest = LargerOf(largest, at[j]);
      }
    }
    return largest;
  }

  /// scores[j] = minus infinity where allowed[j] is 0; returns the largest that is left. Explicit vectors and two
  /// chains: left to the compiler, this takes as long as the softmax.
  static float HideWhereZero(const std::uint8_t* allowed, std::int64_t count, float* scores) {
    const DF d;
    const hn::Rebind<std::uint8_t, DF> d8;
    const VF none = hn::Set(d, kNone);
    const auto hide = [&](std::int64_t j) {
      const auto wide = hn::PromoteTo(DI(), hn::LoadU(d8, allowed + j));
      const auto hidden = hn::RebindMask(d, hn::Eq(wide, hn::Zero(DI())));
      const VF left = hn::IfThenElse(hidden, none, hn::LoadU(d, scores + j));
      hn::StoreU(left, d, scores + j);
      return left;
    };
    VF top0 = none, top1 = none;
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= count; j += 2 * kLanes) {
      top0 = hn::Max(top0, hide(j));
      top1 = hn::Max(top1, hide(j + kLanes));
    }
    for (; j + kLanes <= count; j += kLanes) top0 = hn::Max(top0, hide(j));
    float largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(top0, top1)));
    for (; j < count; ++j) {
      if (allowed[j] == 0) scores[j] = kNone;
      largest = LargerOf(largest, scores[j]);
    }
    return largest;
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

  static constexpr std::int64_t kCacheLine = 64;
  static constexpr std::int64_t kMostRows = 8;  ///< of a product

  const TileTask& t_;
  Operands& operands_;
  const bool boolean_ = t_.call.attn_mask && t_.call.attn_mask->dtype == DType::boolean;
  const bool additive_ = t_.call.attn_mask && !boolean_;
  const std::int64_t mask_base_ = additive_ || boolean_ ? MaskOffset(0) : 0;
  const std::int64_t mask_step_ = additive_ || boolean_ ? MaskOffset(1) - mask_base_ : 0;
  const std::int64_t mask_end_ = additive_ ? Span(*t_.call.attn_mask) : 0;
  alignas(64) float bias_[kMostRows * kMaxVectors * kLanes];
  TileKeys keys_;
  Panel panels_[kMaxPanels];
  bool needed_[kMaxPanels];
  int panel_count_ = 0;
};

/// The online softmax of one row of a tile, in place. `largest` of its scores.
HWY_INLINE void SoftenInPlace(const TileTask& t, const TileKeys& keys, std::int64_t row, std::int64_t in_tile,
                              float largest) {
  t.row_rescale[row + in_tile] = SoftmaxRow(t.scores + in_tile * keys.columns, keys.columns, largest,
                                            t.row_maximum + row + in_tile, t.row_sum + row + in_tile);
}

/// to[i] = sums[i] / divisor, as float, binary16 or bfloat16, for a row of one vector or more.
template <class Element>
HWY_INLINE void StoreQuotients(const float* sums, float divisor, std::int64_t width, Element* HWY_RESTRICT to) {
  const DF d;
  const VF by = hn::Set(d, divisor);
  const auto store = [&](std::int64_t i) {
    const VF quotient = hn::Div(hn::LoadU(d, sums + i), by);
    if constexpr (std::is_same_v<Element, float>) {
      hn::StoreU(quotient, d, to + i);
    } else {
      Narrow(quotient, to + i);
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) store(i);
  if (i < width) store(width - kLanes);  // ends with the row: some elements twice
}

/// Stores the rows of a task in the output's dtype.
HWY_INLINE void StoreRows(const TileTask& t, const float* sums, std::int64_t step) {
  const TensorView& out = t.call.output;
  const std::int64_t offset = head_offset(out, t.batch, t.head);
  const std::int64_t width = t.sizes.value_dim;
  const std::int64_t first = offset + t.first_row * out.step(-2);
  const bool plain = out.step(-1) == 1 || width == 1;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* from = sums + r * step;
    const std::int64_t at = first + r * out.step(-2);
    if (plain && out.dtype == DType::float32) {
      std::memcpy(static_cast<float*>(out.data) + at, from, static_cast<std::size_t>(width) * sizeof(float));
    } else if (plain && out.dtype == DType::float16) {
      NarrowRow(from, width, static_cast<hwy::float16_t*>(out.data) + at);
    } else if (plain && out.dtype == DType::bfloat16) {
      NarrowRow(from, width, static_cast<hwy::bfloat16_t*>(out.data) + at);
    } else {
      store_row(out, offset, t.first_row + r, from);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
