// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled once per instruction set: one task of attention with INT8 scores.
#include "backends/simd/int8_tiles.h"

#include "backends/simd/quantise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>

// Processors with VNNI have their own target, which Highway of Debian 12 compiles only when asked to.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/simd/int8_tiles.cpp"
#include <hwy/foreach_target.h>
// Highway asks for this order.
#include <hwy/highway.h>

#include "backends/simd/attention_pass-inl.h"
#include "backends/simd/float_values-inl.h"
#include "backends/simd/int8_packing-inl.h"
#include "backends/simd/int8_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {
namespace {

constexpr std::int64_t kChunk = Int8Scheme::kMostTokens;  ///< tokens quantised together; whole blocks of any scheme

constexpr std::int64_t kFactorKeys = 64;  ///< keys whose probabilities share a factor

std::int64_t WholeWords(std::int64_t bytes) { return (bytes + 3) / 4 * 4; }

class Int8Operands {
 public:
  Int8Operands(const TileTask& task, const Int8Arithmetic& how, const float* key_mean, const Int8Scratch& scratch)
      : t_(task),
        how_(how),
        key_mean_(key_mean),
        s_(scratch),
        depth_(WholeWords(how.key_width)),
        value_step_((how.value_width + kPanelUnit - 1) / kPanelUnit * kPanelUnit),
        values_(task, how.value_width, value_step_, scratch.values, scratch.staging) {}

  void LoadQueries() {
    const double scale = t_.sizes.head_dim == 0 ? 0.0 : t_.call.effective_scale();
    const auto to_base_two = static_cast<float>(scale * std::numbers::log2e);
    const std::int64_t offset = head_offset(t_.call.query, t_.batch, t_.head);
    for (std::int64_t row = 0; row < t_.rows; row += kChunk) {
      const std::int64_t count = std::min(kChunk, t_.rows - row);
      LoadPadded(t_.call.query, offset, t_.first_row + row, count, how_.key_width, how_.key_group);
      auto* numbers = reinterpret_cast<std::int8_t*>(s_.queries + row * depth_);
      for (std::int64_t i = 0; i < count; ++i) {
        row_largest_[i] = LargestOf(s_.staging + i * how_.key_width, how_.key_width);
      }
      Quantise(how_.scheme.query_block, how_.scheme.query_group, count, numbers, s_.query_factor + row, row_sums_);
      for (std::int64_t i = 0; i < count; ++i) s_.query_factor[row + i] *= to_base_two;
      AddBias(numbers, count * depth_, s_.queries + row * depth_);
    }
    std::fill_n(s_.sums, t_.rows * value_step_, 0.0F);
  }

  void PackBlock(std::int64_t first, std::int64_t count, Panel* panels, const bool* needed, int panel_count) {
    float* data = reinterpret_cast<float*>(s_.keys);
    for (int p = 0; p < panel_count; ++p) {
      panels[p].data = data;
      data += panels[p].vectors * kLanes * (depth_ / 4);
    }
    QuantiseKeys(first, count, panels, needed, panel_count);
    for (int p = 0; p < panel_count; ++p) {
      if (needed[p]) PackPanel(panels[p]);
    }
    if (how_.values == Int8Values::int8) {
      PackValueBytes(first, count, panels, needed, panel_count);
    } else {
      values_.Pack(first, count, panels, needed, panel_count, [&](float* row) { RoundValues(row, value_step_); });
    }
  }

  template <class Fetch>
  void Score(const TileKeys& keys, std::int64_t row, std::int64_t rows, Fetch fetch) const {
    for (int i = 0; i < keys.kept_count; ++i) {
      const Panel& panel = *keys.kept[i];
      WithVectors(panel.vectors,
                  [&](auto vectors) { ScorePanelBytes<decltype(vectors)::value>(keys, panel, row, rows, fetch); });
    }
  }

  void Soften(const TileKeys& keys, std::int64_t row, std::int64_t in_tile, float largest) {
    if (how_.values != Int8Values::int8) {
      SoftenInPlace(t_, keys, row, in_tile, largest);
      RoundValues(t_.scores + in_tile * keys.columns, keys.columns);
      return;
    }
    if (in_tile == 0) PlaceValueFactors(keys);
    SoftenToBytes(keys, row, in_tile, largest);
  }

  void AddValues(const TileKeys& keys, std::int64_t row, std::int64_t rows) {
    if (how_.values != Int8Values::int8) {
      values_.Add(keys, row, rows, s_.sums);
      return;
    }
    for (int v = 0; v < byte_panel_count_; ++v) {
      WithVectors(byte_panels_[v].vectors,
                  [&](auto vectors) { AddPanelBytes<decltype(vectors)::value>(keys, byte_panels_[v], row, rows); });
    }
  }

  void Finish() const {
    NormaliseRows(t_, how_.value_width, s_.sums, value_step_);
    for (std::int64_t r = 0; r < t_.rows; ++r) hadamard(s_.sums + r * value_step_, how_.value_width, how_.value_group);
    StoreRows(t_, s_.sums, value_step_);
  }

 private:
  void RoundValues(float* row, std::int64_t count) const {
    if (how_.values == Int8Values::fp16) RoundRow<hwy::float16_t>(row, count);
    if (how_.values == Int8Values::bf16) RoundRow<hwy::bfloat16_t>(row, count);
  }

  /// In place, by pointers that the compiler can tell apart from the members.
  static void AddBias(const std::int8_t* numbers, std::int64_t count, std::uint8_t* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(numbers[i] + kQueryBias);
  }

  /// Rows into staging, `width` floats each: zeros behind the last channel, then rotated.
  void LoadPadded(const TensorView& view, std::int64_t offset, std::int64_t first, std::int64_t count,
                  std::int64_t width, std::int64_t group) const {
    const std::int64_t channels = view.size(-1);
    LoadRows(view, offset, first, count, 1.0F, s_.staging, width);
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = s_.staging + i * width;
      std::fill(row + channels, row + width, 0.0F);
      hadamard(row, width, group);
    }
  }

  /// Staging rows into numbers with the scheme's factors, and the sums of each row's numbers. row_largest_ is theirs,
  /// and the first row starts a block.
  void Quantise(int block, const std::array<std::uint8_t, Int8Scheme::kMostTokens>& group_of, std::int64_t count,
                std::int8_t* numbers, float* factor, std::int32_t* sums) const {
    const std::int64_t width = how_.key_width;
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t here = std::min<std::int64_t>(block, count - first);
      float largest[Int8Scheme::kMostTokens] = {};
      for (std::int64_t i = 0; i < here; ++i) {
        float& group = largest[group_of[static_cast<std::size_t>(i)]];
        group = std::max(group, row_largest_[first + i]);
      }
      for (std::int64_t i = 0; i < here; ++i) {
        const float top = std::max(largest[group_of[static_cast<std::size_t>(i)]], how_.scheme.least_largest);
        factor[first + i] = top / 127.0F + how_.scheme.added;
        std::int8_t* out = numbers + (first + i) * depth_;
        sums[first + i] =
            RowToBytes(s_.staging + (first + i) * width, width, factor[first + i], how_.scheme.half_away, out);
        std::memset(out + width, 0, static_cast<std::size_t>(depth_ - width));
      }
    }
  }

  /// The first row where rows of fp32 can be read in place; null where they must be loaded.
  [[nodiscard]] static const float* PlainRow(const TensorView& view, std::int64_t offset, std::int64_t row) {
    if (view.dtype != DType::float32 || view.step(-1) != 1) return nullptr;
    return static_cast<const float*>(view.data) + offset + row * view.step(-2);
  }

  // --- keys ------------------------------------------------------------------------------------------------------

  /// Numbers and factors of the block's keys, by key. A chunk that no panel needs is left out.
  void QuantiseKeys(std::int64_t first, std::int64_t count, const Panel* panels, const bool* needed, int panel_count) {
    const std::int64_t offset = head_offset(t_.call.key, t_.batch, t_.kv_head());
    for (std::int64_t key = 0; key < count; key += kChunk) {
      const std::int64_t here = std::min(kChunk, count - key);
      bool any = false;
      for (int p = 0; p < panel_count; ++p) {
        any = any || (needed[p] && panels[p].first < key + here && panels[p].first + panels[p].count > key);
      }
      if (!any) continue;
      const float* source = PlainRow(t_.call.key, offset, first + key);
      if (source == nullptr) {
        LoadRows(t_.call.key, offset, first + key, here, 1.0F, s_.staging, how_.key_width);
      }
      const std::int64_t channels = t_.sizes.head_dim;
      for (std::int64_t j = 0; j < here; ++j) {
        float* row = s_.staging + j * how_.key_width;
        const float* from = source == nullptr ? row : source + j * t_.call.key.step(-2);
        std::fill(row + channels, row + how_.key_width, 0.0F);
        row_largest_[j] = CentreRow(from, key_mean_, channels, row);
        if (how_.key_group == 0) continue;
        hadamard(row, how_.key_width, how_.key_group);
        row_largest_[j] = LargestOf(row, how_.key_width);
      }
      Quantise(how_.scheme.key_block, how_.scheme.key_group, here, s_.bytes + key * depth_, s_.token_factor + key,
               s_.token_sum + key);
    }
  }

  [[nodiscard]] std::int64_t SlotOf(const Panel& panel) const {
    return (panel.data - reinterpret_cast<float*>(s_.keys)) / (depth_ / 4);
  }

  void PackPanel(const Panel& panel) const {
    const std::int64_t width = panel.vectors * kLanes;
    const std::int64_t slot = SlotOf(panel);
    const std::int8_t* rows = s_.bytes + panel.first * depth_;
    // Words of four numbers move as floats do: only their places change.
    PackKeys(reinterpret_cast<const float*>(rows), depth_ / 4, panel.count, depth_ / 4, width, panel.data);
    std::fill_n(s_.key_factor + slot, width, 0.0F);
    std::fill_n(s_.key_sum + slot, width, 0);
    for (std::int64_t j = 0; j < panel.count; ++j) {
      s_.key_factor[slot + j] = s_.token_factor[panel.first + j];
      s_.key_sum[slot + j] = kQueryBias * s_.token_sum[panel.first + j];
    }
  }

  template <int kVectors, class Fetch>
  void ScorePanelBytes(const TileKeys& keys, const Panel& panel, std::int64_t row, std::int64_t rows,
                       Fetch fetch) const {
    const std::int64_t slot = SlotOf(panel);
    ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
      constexpr int kRows = decltype(group)::value;
      WithBias(fetch(panel, at, kRows), [&](auto bias) {
        ScoreBytes<kRows, kVectors>(s_.queries + (row + at) * depth_, depth_, s_.query_factor + row + at,
                                    reinterpret_cast<const std::int8_t*>(panel.data), s_.key_sum + slot,
                                    s_.key_factor + slot, depth_ / 4, t_.scores + at * keys.columns + panel.column,
                                    keys.columns, bias);
      });
    });
  }

  // --- values ----------------------------------------------------------------------------------------------------

  void PackValueBytes(std::int64_t first, std::int64_t count, const Panel* keys, const bool* needed, int key_panels) {
    byte_panel_count_ = 0;
    std::int8_t* data = s_.value_bytes;
    SplitPanels(how_.value_width, [&](std::int64_t at, std::int64_t channels, int vectors) {
      byte_panels_[byte_panel_count_++] = {at, channels, vectors, at, reinterpret_cast<float*>(data)};
      data += vectors * kLanes * WholeWords(count);
    });
    const std::int64_t offset = head_offset(t_.call.value, t_.batch, t_.kv_head());
    for (int p = 0; p < key_panels; ++p) {
      if (!needed[p]) continue;
      const Panel& panel = keys[p];
      LoadPadded(t_.call.value, offset, first + panel.first, panel.count, how_.value_width, how_.value_group);
      for (std::int64_t j = 0; j < panel.count; ++j) {
        const float* row = s_.staging + j * how_.value_width;
        const float factor = LargestOf(row, how_.value_width) / 127.0F;
        s_.token_factor[panel.first + j] = factor;
        RowToBytes(row, how_.value_width, factor, false, s_.bytes + j * value_step_);
      }
      const std::int64_t whole = WholeWords(panel.count);
      for (std::int64_t j = panel.count; j < whole; ++j) {
        std::memset(s_.bytes + j * value_step_, 0, static_cast<std::size_t>(value_step_));
      }
      for (int v = 0; v < byte_panel_count_; ++v) {
        const Panel& channels = byte_panels_[v];
        const std::int64_t width = channels.vectors * kLanes;
        auto* out = reinterpret_cast<std::int8_t*>(channels.data) + panel.first * width;
        for (std::int64_t j = 0; j < whole; j += 4, out += 4 * width) {
          InterleaveRows(s_.bytes + j * value_step_ + channels.first, value_step_, channels.count, width, out);
        }
      }
    }
  }

  /// The values' factors by score column, and the stretches in pieces that share a factor per row.
  void PlaceValueFactors(const TileKeys& keys) {
    std::fill_n(s_.column_factor, keys.columns, 0.0F);
    segment_count_ = 0;
    for (std::int64_t i = 0; i < keys.stretch_count; ++i) {
      const Stretch& whole = keys.stretches[i];
      std::copy_n(s_.token_factor + whole.key, whole.keys, s_.column_factor + whole.column);
      for (std::int64_t at = 0; at < whole.keys; at += kFactorKeys) {
        segments_[segment_count_++] = {whole.column + at, whole.key + at, std::min(kFactorKeys, whole.keys - at)};
      }
    }
  }

  /// The online softmax of one row, its probabilities straight into bytes.
  void SoftenToBytes(const TileKeys& keys, std::int64_t row, std::int64_t in_tile, float top) {
    float* scores = t_.scores + in_tile * keys.columns;
    float* maximum = t_.row_maximum + row + in_tile;
    float* sum = t_.row_sum + row + in_tile;
    const DF d;
    const float largest = LargerOf(*maximum, top);
    VF added = hn::Zero(d);
    VF shift = hn::Set(d, ShiftFor(largest));
    if (largest == std::numeric_limits<float>::infinity()) {
      // Weights of 0 and 1, whose base-2 logarithms are scores of the same softmax.
      t_.row_rescale[row + in_tile] = SoftmaxInfiniteRow(scores, keys.columns, maximum, sum);
      for (std::int64_t j = 0; j < keys.columns; ++j) scores[j] = scores[j] == 1.0F ? 0.0F : kNone;
      shift = hn::Zero(d);
    } else {
      t_.row_rescale[row + in_tile] = MoveMaximum(largest, maximum);
    }
    for (std::int64_t i = 0; i < segment_count_; ++i) {
      const std::int64_t column = segments_[i].column;
      // A segment's last vector may reach into the padding behind it, where probabilities are zero.
      const std::int64_t width = (segments_[i].keys + kLanes - 1) / kLanes * kLanes;
      s_.probability_factor[i * t_.tiling.tile_rows + in_tile] =
          RunToBytes(scores + column, s_.column_factor + column, width, shift, &added,
                     s_.probabilities + in_tile * keys.columns + column);
    }
    if (largest != std::numeric_limits<float>::infinity()) {
      *sum = *sum * t_.row_rescale[row + in_tile] + hn::GetLane(hn::SumOfLanes(d, added));
    }
  }

  template <int kVectors>
  void AddPanelBytes(const TileKeys& keys, const Panel& channels, std::int64_t row, std::int64_t rows) const {
    ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
      ValueBytes<decltype(group)::value, kVectors>(
          s_.probabilities + at * keys.columns, keys.columns, reinterpret_cast<const std::int8_t*>(channels.data),
          segments_, segment_count_, s_.probability_factor + at, t_.tiling.tile_rows, t_.row_rescale + row + at,
          s_.sums + (row + at) * value_step_ + channels.column, value_step_);
    });
  }

  const TileTask& t_;
  const Int8Arithmetic& how_;
  const float* key_mean_;
  const Int8Scratch& s_;
  std::int64_t depth_;
  std::int64_t value_step_;
  FloatValues values_;
  float row_largest_[kChunk];
  std::int32_t row_sums_[kChunk];
  Panel byte_panels_[kMaxPanels];
  Stretch segments_[kMaxPanels];
  int byte_panel_count_ = 0;
  std::int64_t segment_count_ = 0;
};

template <int kVectors>
void MultiplyPanel(const std::uint8_t* queries, std::int64_t query_step, const std::int8_t* panel, std::int64_t rows,
                   std::int64_t words, std::int32_t* products, std::int64_t product_step) {
  ForRowGroups<rows_for(kVectors)>(rows, [&](std::int64_t at, auto group) {
    constexpr int kRows = decltype(group)::value;
    VI acc[kRows][kVectors];
    ClearBytes<kRows, kVectors>(acc);
    AccumulateBytes<kRows, kVectors>(queries + at * query_step, query_step, panel, words, acc);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(acc[r][v], DI(), products + (at + r) * product_step + v * kLanes);
      }
    }
  });
}

}  // namespace

void RunInt8Task(const TileTask& task, const Int8Arithmetic& how, const float* key_mean, const Int8Scratch& scratch) {
  Int8Operands operands(task, how, key_mean, scratch);
  AttentionPass<Int8Operands>(task, operands).Run();
}

void MultiplyBytes(int vectors, const std::uint8_t* queries, std::int64_t query_step, const std::int8_t* panel,
                   std::int64_t rows, std::int64_t words, std::int32_t* products, std::int64_t product_step) {
  WithVectors(vectors, [&](auto width) {
    MultiplyPanel<decltype(width)::value>(queries, query_step, panel, rows, words, products, product_step);
  });
}

Int8Tiles MakeInt8Tiles() {
  return {hwy::TargetName(HWY_TARGET), static_cast<int>(kLanes), kMaxVectors, kQueryBias, RunInt8Task, MultiplyBytes};
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {

HWY_EXPORT(MakeInt8Tiles);

Int8Tiles int8_tiles() noexcept { return HWY_DYNAMIC_DISPATCH(MakeInt8Tiles)(); }

}  // namespace attn
#endif
