// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/router/router.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace attn::trace {

/// A shape in an event: 32-bit sizes, because no dimension of an attention call comes near 2^31.
struct EventShape {
  std::array<std::int32_t, TensorView::kMaxRank> size{};
  std::uint8_t rank = 0;
  friend bool operator==(const EventShape&, const EventShape&) = default;
};

enum class MaskKind : std::uint8_t { none, boolean, additive };

/// What an attn_mask says, as far as its contents were looked at.
enum class MaskPattern : std::uint8_t {
  unknown,      ///< no mask, or one without data
  all_true,     ///< hides nothing: a boolean mask of true, an additive one of zeros
  key_padding,  ///< the same keys for every query: it broadcasts over the queries, or its rows are equal
  causal,       ///< query i sees keys 0..i, and all of them
  arbitrary,    ///< anything else, an additive bias too
};

/// One routed call as plain data of fixed size, made on the router's thread and read on the collector's.
/// The string views live as long as the registry (backend names) or the program (variants,
/// stage reasons).
struct RouteEvent {
  std::string_view requested;
  std::string_view selected;
  std::string_view executed;
  std::string_view variant;
  std::string_view stage_reason;  ///< why the sparse stage left the call dense; empty when it selected or was not asked
  std::string_view fell_back;     ///< why another kernel, which was to compute the call, did not; empty: none was
  std::int64_t begin_ns = 0;      ///< steady clock; both 0 when timing was off
  std::int64_t end_ns = 0;
  EventShape query;
  EventShape key;
  EventShape value;
  std::int32_t step = 0;
  float budget = 1.0F;  ///< of the selection; 1 when dense
  float density = 1.0F;
  std::uint32_t nan_count = 0;  ///< of the output's elements; saturates. 0 where nobody counted
  std::uint32_t inf_count = 0;
  Role role = Role::none;
  DType query_dtype = DType::bfloat16;
  DType key_dtype = DType::bfloat16;
  DType value_dtype = DType::bfloat16;
  Layout query_layout = Layout::contiguous;
  Layout key_layout = Layout::contiguous;
  Layout value_layout = Layout::contiguous;
  MaskKind mask = MaskKind::none;
  MaskPattern mask_pattern = MaskPattern::unknown;
  bool causal = false;
  bool gqa = false;
  bool sparse = false;
  bool computed = false;
  bool bypassed = false;  ///< a dispatcher served it directly: the chain was not asked
};
static_assert(sizeof(RouteEvent) <= 224);

/// Copies what an event keeps out of a record, without a look at any tensor's data. No allocation.
[[nodiscard]] RouteEvent make_event(const RouteRecord& record) noexcept;

}  // namespace attn::trace
