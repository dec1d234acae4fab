// SPDX-License-Identifier: GPL-3.0-or-later
// Per-target include: value panels in fp32 and their product.
#if defined(ATTN_FLOAT_VALUES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_FLOAT_VALUES_INL_H
#undef ATTN_FLOAT_VALUES_INL_H
#else
#define ATTN_FLOAT_VALUES_INL_H
#endif

#include "backends/simd/attention_pass-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

/// The values of a key block, cut into panels of channels as wide as the registers hold.
class FloatValues {
 public:
  /// `step` floats stand between two rows of staging and of the sums: whole vectors of `channels`.
  FloatValues(const TileTask& task, std::int64_t channels, std::int64_t step, float* panels, float* staging)
      : t_(task), channels_(channels), step_(step), panels_(panels), staging_(staging) {}

  /// Loads and packs the needed keys of a block. `adjust` may change a row of fp32 before it is packed.
  template <class Adjust>
  void Pack(std::int64_t first, std::int64_t count, const Panel* keys, const bool* needed, int key_panels,
            Adjust adjust) {
    panel_count_ = 0;
    float* data = panels_;
    SplitPanels(channels_, [&](std::int64_t at, std::int64_t channels, int vectors) {
      panel_[panel_count_++] = {at, channels, vectors, at, data};
      data += vectors * kLanes * count;
    });
    const std::int64_t offset = head_offset(t_.call.value, t_.batch, t_.kv_head());
    for (int p = 0; p < key_panels; ++p) {
      if (!needed[p]) continue;
      LoadRows(t_.call.value, offset, first + keys[p].first, keys[p].count, 1.0F, staging_, step_);
      for (std::int64_t j = 0; j < keys[p].count; ++j) adjust(staging_ + j * step_);
      for (int v = 0; v < panel_count_; ++v) CopyChannels(panel_[v], keys[p]);
    }
  }

  /// sums = sums * rescale + probabilities * values, with the tile's probabilities in the task's scores.
  void Add(const TileKeys& keys, std::int64_t row, std::int64_t rows, float* sums) const {
    for (int v = 0; v < panel_count_; ++v) {
      const Panel& channels = panel_[v];
      WithVectors(channels.vectors, [&](auto vectors) {
        ValuePanel<decltype(vectors)::value>(t_.scores, keys.columns, channels.data, keys.stretches, keys.stretch_count,
                                             rows, t_.row_rescale + row, sums + row * step_ + channels.column, step_);
      });
    }
  }

 private:
  void CopyChannels(const Panel& channels, const Panel& keys) const {
    const std::int64_t width = channels.vectors * kLanes;
    float* to = channels.data + keys.first * width;
    for (std::int64_t j = 0; j < keys.count; ++j, to += width) {
      std::memcpy(to, staging_ + j * step_ + channels.first, static_cast<std::size_t>(channels.count) * sizeof(float));
      std::fill(to + channels.count, to + width, 0.0F);
    }
  }

  const TileTask& t_;
  std::int64_t channels_;
  std::int64_t step_;
  float* panels_;
  float* staging_;
  Panel panel_[kMaxPanels];
  int panel_count_ = 0;
};

/// The unnormalised result of a task, made whole and stored.
HWY_INLINE void NormaliseRows(const TileTask& t, std::int64_t channels, float* sums, std::int64_t step) {
  for (std::int64_t r = 0; r < t.rows; ++r) {
    if (t.row_sum[r] == 0.0F) {
      std::fill_n(sums + r * step, channels, 0.0F);
    } else {
      DivideRow(sums + r * step, channels, t.row_sum[r]);
    }
  }
}

/// NormaliseRows and StoreRows in one pass where the output's rows allow it: the conversion hides behind the quotient.
HWY_INLINE void StoreNormalisedRows(const TileTask& t, float* sums, std::int64_t step) {
  const TensorView& out = t.call.output;
  const std::int64_t width = t.sizes.value_dim;
  const auto rows_of = [&](auto* data) {
    using Element = std::remove_pointer_t<decltype(data)>;
    Element* to = data + head_offset(out, t.batch, t.head) + t.first_row * out.step(-2);
    for (std::int64_t r = 0; r < t.rows; ++r, to += out.step(-2), sums += step) {
      // Without any key the sums are zeros, or no numbers where values are none.
      if (t.row_sum[r] == 0.0F) std::fill_n(sums, width, 0.0F);
      StoreQuotients(sums, t.row_sum[r] == 0.0F ? 1.0F : t.row_sum[r], width, to);
    }
  };
  const bool plain = out.step(-1) == 1 && width >= kLanes;
  if (plain && out.dtype == DType::float32) return rows_of(static_cast<float*>(out.data));
  if (plain && out.dtype == DType::float16) return rows_of(static_cast<hwy::float16_t*>(out.data));
  if (plain && out.dtype == DType::bfloat16) return rows_of(static_cast<hwy::bfloat16_t*>(out.data));
  NormaliseRows(t, width, sums, step);
  StoreRows(t, sums, step);
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();
#endif
