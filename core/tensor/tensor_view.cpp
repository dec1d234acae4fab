// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/tensor_view.h"

#include <algorithm>
#include <cassert>

namespace attn {

std::int64_t TensorView::elements() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes()) count *= size;
  return count;
}

bool TensorView::is_contiguous() const noexcept {
  if (elements() == 0) return true;
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    if (shape[at] == 1) continue;
    if (stride[at] != expected) return false;
    expected *= shape[at];
  }
  return true;
}

std::int64_t TensorView::offset_reach() const noexcept {
  if (elements() == 0) return 0;
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < rank; ++i) reach += (shape[i] - 1) * std::max(stride[i], -stride[i]);
  return reach;
}

TensorView TensorView::contiguous(std::span<const std::int64_t> shape, DType dtype, Device device) noexcept {
  assert(shape.size() <= kMaxRank);
  TensorView view;
  view.rank = static_cast<std::uint8_t>(shape.size());
  view.dtype = dtype;
  view.device = device;
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    view.shape[i] = shape[i];
    view.stride[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return view;
}

Layout layout_of(const TensorView& view) noexcept {
  if (view.is_contiguous()) return Layout::contiguous;
  for (std::size_t i = 0; i < view.rank; ++i) {
    if (view.stride[i] == 0 && view.shape[i] > 1) return Layout::expanded;
  }
  if (view.rank < 3 || view.step(-1) != 1) return Layout::strided;
  const std::int64_t heads = view.size(-3);
  const std::int64_t packed = heads * view.size(-1);
  if (heads > 1 && view.step(-3) != view.size(-1)) return Layout::strided;
  if (view.step(-2) == packed) return Layout::transposed;
  return view.step(-2) > packed ? Layout::fused_qkv : Layout::strided;
}

std::string_view name_of(Layout layout) noexcept {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::transposed:
      return "transposed";
    case Layout::fused_qkv:
      return "fused-qkv";
    case Layout::expanded:
      return "expanded";
    case Layout::strided:
      return "strided";
  }
  return "strided";
}

std::string shape_text(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

}  // namespace attn
