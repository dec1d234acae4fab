// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <array>
#include <compare>
#include <cstdint>

namespace attn::ui {

/// What a call was, whoever served it: role, shapes, dtypes, kind of mask, causal, grouped heads and, where they count,
/// how its tensors lie in memory. What a mask says is no part of it: a planned call does not know.
struct CallKey {
  std::array<std::int64_t, 28> words{};
  friend auto operator<=>(const CallKey&, const CallKey&) = default;
};

enum class Strides : bool { ignored, counted };

[[nodiscard]] inline CallKey call_key(const trace::RouteRow& row, Strides strides = Strides::counted) {
  CallKey key;
  std::size_t at = 0;
  const auto put = [&](auto value) { key.words[at++] = static_cast<std::int64_t>(value); };
  put(row.id.role);
  for (const trace::EventShape* shape : {&row.id.query, &row.id.key, &row.value}) {
    put(shape->rank);
    for (std::size_t dim = 0; dim < shape->size.size(); ++dim) put(dim < shape->rank ? shape->size[dim] : 0);
  }
  for (const DType dtype : {row.id.dtype, row.key_dtype, row.value_dtype}) put(dtype);
  put(row.mask);
  put(row.causal);
  put(row.gqa);
  for (const Layout layout : {row.query_layout, row.key_layout, row.value_layout}) {
    put(strides == Strides::counted ? layout : Layout::contiguous);
  }
  return key;
}

}  // namespace attn::ui
