// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/event/route_event.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace attn::trace {
namespace {

static_assert(std::is_trivially_copyable_v<RouteEvent>, "an event is copied from thread to thread as bytes");

EventShape shape_of(const TensorView& view) noexcept {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  EventShape shape;
  shape.rank = view.rank;
  for (std::size_t i = 0; i < view.rank; ++i) {
    shape.size[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(view.shape[i], 0, kLargest));
  }
  return shape;
}

// Most tensors are plainly contiguous, and this is on the router's thread: the full question is asked only when the
// quick one says no.
Layout layout_in_event(const TensorView& view) noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = view.rank; i-- > 0;) {
    if (view.stride[i] != expected) return layout_of(view);
    expected *= view.shape[i];
  }
  return Layout::contiguous;
}

MaskKind mask_of(const AttentionCall& call) noexcept {
  if (!call.attn_mask) return MaskKind::none;
  return call.attn_mask->dtype == DType::boolean ? MaskKind::boolean : MaskKind::additive;
}

}  // namespace

RouteEvent make_event(const RouteRecord& record) noexcept {
  const AttentionCall& call = record.call;
  const BlockSelection* selection = record.selection;
  return {.requested = record.requested,
          .selected = record.selected,
          .executed = record.executed,
          .variant = record.variant,
          .stage_reason = record.stage_reason,
          .fell_back = record.fell_back,
          .begin_ns = record.begin_ns,
          .end_ns = record.end_ns,
          .query = shape_of(call.query),
          .key = shape_of(call.key),
          .value = shape_of(call.value),
          .step = record.step,
          .budget = selection != nullptr ? static_cast<float>(selection->budget) : 1.0F,
          .density = selection != nullptr ? static_cast<float>(selection->density) : 1.0F,
          .nan_count = 0,
          .inf_count = 0,
          .role = record.role,
          .query_dtype = call.query.dtype,
          .key_dtype = call.key.dtype,
          .value_dtype = call.value.dtype,
          .query_layout = layout_in_event(call.query),
          .key_layout = layout_in_event(call.key),
          .value_layout = layout_in_event(call.value),
          .mask = mask_of(call),
          .mask_pattern = MaskPattern::unknown,
          .causal = call.is_causal,
          .gqa = call.enable_gqa,
          .sparse = selection != nullptr,
          .computed = record.computed,
          .bypassed = record.bypassed};
}

}  // namespace attn::trace
