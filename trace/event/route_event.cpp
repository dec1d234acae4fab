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

MaskKind mask_of(const AttentionCall& call) noexcept {
  if (!call.attn_mask) return MaskKind::none;
  return call.attn_mask->dtype == DType::boolean ? MaskKind::boolean : MaskKind::additive;
}

}  // namespace

RouteEvent make_event(const RouteRecord& record) noexcept {
  const AttentionCall& call = record.call;
  RouteEvent event;
  event.requested = record.requested;
  event.selected = record.selected;
  event.executed = record.executed;
  event.variant = record.variant;
  event.begin_ns = record.begin_ns;
  event.end_ns = record.end_ns;
  event.query = shape_of(call.query);
  event.key = shape_of(call.key);
  event.value = shape_of(call.value);
  event.step = record.step;
  if (record.selection != nullptr) {
    event.budget = static_cast<float>(record.selection->budget);
    event.density = static_cast<float>(record.selection->density);
    event.sparse = true;
  }
  event.role = record.role;
  event.query_dtype = call.query.dtype;
  event.key_dtype = call.key.dtype;
  event.value_dtype = call.value.dtype;
  event.query_layout = layout_of(call.query);
  event.key_layout = layout_of(call.key);
  event.value_layout = layout_of(call.value);
  event.mask = mask_of(call);
  event.causal = call.is_causal;
  event.gqa = call.enable_gqa;
  event.computed = record.computed;
  return event;
}

}  // namespace attn::trace
