// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/call/call_strides.h"

namespace attn {
namespace {

void set_step(TensorView& view, int dim, std::int64_t stride) {
  view.stride[static_cast<std::size_t>(view.rank + dim)] = stride;
}

/// Tokens before heads, `width` elements from token to token; leading dims follow.
void interleave(TensorView& view, std::int64_t width) {
  set_step(view, -1, 1);
  set_step(view, -3, view.size(-1));
  set_step(view, -2, width);
  std::int64_t step = width * view.size(-2);
  for (int dim = -4; view.rank + dim >= 0; --dim) {
    set_step(view, dim, step);
    step *= view.size(dim);
  }
}

std::int64_t row(const TensorView& view) { return view.size(-3) * view.size(-1); }

Expected<void> expand(TensorView& view, std::string_view name) {
  view = TensorView::contiguous(view.sizes(), view.dtype, view.device);
  for (int dim = -3; view.rank + dim >= 0; --dim) {
    if (view.size(dim) == 1) continue;
    const std::int64_t size = view.size(dim);
    set_step(view, dim, 0);
    for (int outer = dim - 1; view.rank + outer >= 0; --outer) set_step(view, outer, view.step(outer) / size);
    return {};
  }
  return fail("strides=expanded needs more than one head or batch element, but " + std::string(name) +
              shape_text(view.sizes()) + " has one of each");
}

}  // namespace

std::string_view name_of(CallLayout layout) noexcept {
  switch (layout) {
    case CallLayout::contiguous:
      return "contiguous";
    case CallLayout::transposed:
      return "transposed";
    case CallLayout::fused_qkv:
      return "qkv";
    case CallLayout::expanded:
      return "expanded";
  }
  return "contiguous";
}

Expected<void> lay_out(AttentionCall& call, CallLayout layout) {
  TensorView* const views[] = {&call.query, &call.key, &call.value};
  for (TensorView* view : views) *view = TensorView::contiguous(view->sizes(), view->dtype, view->device);
  if (layout == CallLayout::contiguous) return {};
  for (const TensorView* view : views) {
    if (view->rank >= 3) continue;
    return fail("strides=" + std::string(name_of(layout)) + " needs heads, but " + shape_text(view->sizes()) +
                " has 2 dimensions; write (batch, heads, tokens, head_dim)");
  }
  if (layout == CallLayout::expanded) {
    if (auto key = expand(call.key, "k"); !key) return key;
    return expand(call.value, "v");
  }
  if (layout == CallLayout::transposed) {
    for (TensorView* view : views) interleave(*view, row(*view));
    return {};
  }
  const std::int64_t key_value = row(call.key) + row(call.value);
  const bool together = call.query_tokens() == call.key_tokens();
  interleave(call.query, row(call.query) + (together ? key_value : 0));
  interleave(call.key, key_value + (together ? row(call.query) : 0));
  interleave(call.value, key_value + (together ? row(call.query) : 0));
  return {};
}

}  // namespace attn
