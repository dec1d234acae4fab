// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <cstdint>
#include <string_view>

namespace attn {

/// The sizes of a call, with the leading one or two dims of rank 4 and 5 counted as one batch.
struct CallSizes {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t query_tokens;
  std::int64_t key_tokens;
  std::int64_t head_dim;
  std::int64_t value_dim;
};
[[nodiscard]] CallSizes sizes_of(const AttentionCall& call) noexcept;

/// Element offset of (batch, head) in a query, key, value or output of rank 2 to 5.
[[nodiscard]] std::int64_t head_offset(const TensorView& view, std::int64_t batch, std::int64_t head) noexcept;

/// Element offset of (batch, head, query token) in a mask that broadcasts from the right.
[[nodiscard]] std::int64_t mask_offset(const TensorView& mask, const AttentionCall& call, std::int64_t batch,
                                       std::int64_t head, std::int64_t query) noexcept;

/// Applies keys first..first+count of one mask row to scores: a false boolean gives minus infinity, any other dtype
/// is added. `offset` comes from mask_offset().
void apply_mask(const TensorView& mask, std::int64_t offset, std::int64_t first, std::int64_t count, float* scores);

/// Copies `rows` x `columns` elements, converted to float, into rows of `step` floats. `offset` in elements.
void load_rows(const TensorView& view, std::int64_t offset, std::int64_t first_row, std::int64_t rows, float* out,
               std::int64_t step);

/// Writes one row of `view`'s last dim.
void store_row(const TensorView& view, std::int64_t offset, std::int64_t row, const float* values);

/// Why run() cannot compute this, as a static clause; empty when it can. Data is looked at only where there are
/// elements, and `selection` must have tiles that cover the call.
[[nodiscard]] std::string_view refusal(const AttentionCall& call, const BlockSelection* selection);

/// Whether a selection's tiles belong to this call. The error names both sizes.
[[nodiscard]] Expected<void> check_selection(const AttentionCall& call, const BlockSelection& selection);

}  // namespace attn
