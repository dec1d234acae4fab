// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/dynamic/diagonal.h"

#include <cstring>
#include <limits>

namespace attn {

TensorView diagonal_shape(const AttentionCall& slice) noexcept {
  const std::int64_t rows = slice.query_tokens();
  const std::int64_t keys = slice.key_tokens();
  if (!slice.attn_mask) return TensorView::contiguous({1, 1, rows, keys}, DType::boolean, slice.query.device);
  const TensorView& mask = *slice.attn_mask;
  return TensorView::contiguous({mask.size(-4), mask.size(-3), rows, keys}, mask.dtype, mask.device);
}

TensorView Diagonal::mask(const AttentionCall& slice, std::int64_t first_query) {
  return slice.attn_mask ? combined(slice, first_query) : ramp(slice, first_query);
}

TensorView Diagonal::ramp(const AttentionCall& slice, std::int64_t first_query) {
  // Flag x stands for key - query = x - (Sq - 1); those up to 0 are allowed.
  if (ramp_.size() == 0) {
    ramp_ = HostBuffer(static_cast<std::size_t>(query_tokens_ + key_tokens_));
    std::memset(ramp_.data(), 1, static_cast<std::size_t>(query_tokens_));
  }
  TensorView view = diagonal_shape(slice);
  view.stride = {0, 0, -1, 1, 0};
  view.data = ramp_.data() + (query_tokens_ - 1 - first_query);
  return view;
}

TensorView Diagonal::combined(const AttentionCall& slice, std::int64_t first_query) {
  const TensorView& own = *slice.attn_mask;
  const TensorView shape = diagonal_shape(slice);
  combined_ = HostTensor(shape.sizes(), shape.dtype, shape.device);
  const TensorView& out = combined_.view();
  const bool boolean = own.dtype == DType::boolean;
  const float hidden = boolean ? 0.0F : -std::numeric_limits<float>::infinity();
  const auto step = [&own](int i) { return own.size(i) == 1 ? 0 : own.step(i); };
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < out.size(0); ++b) {
    for (std::int64_t h = 0; h < out.size(1); ++h) {
      for (std::int64_t i = 0; i < out.size(2); ++i) {
        const std::int64_t row = b * step(-4) + h * step(-3) + i * step(-2);
        for (std::int64_t j = 0; j < out.size(3); ++j, ++at) {
          store_element(out, at, j <= first_query + i ? load_element(own, row + j * step(-1)) : hidden);
        }
      }
    }
  }
  return out;
}

}  // namespace attn
