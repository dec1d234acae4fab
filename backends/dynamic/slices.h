// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/dynamic/slice_plan.h"
#include "core/call/attention_call.h"

#include <cstdint>

namespace attn {

/// Walks over the slices of a call: each a call of its own, of rank 4, on views of the same memory.
///
/// Grouped heads become plain ones by a view: heads of one group read their key/value head with step 0, and whole
/// groups stand in the batch dim. A causal call keeps its place when the query is split: the slice sees the keys up to
/// its last row, and rows after the first slice carry the diagonal as a mask, which slices() fills in from `diagonal`.
class SliceWalk {
 public:
  SliceWalk(const AttentionCall& call, const SlicePlan& plan) noexcept;

  /// Moves to the next slice; false after the last one.
  [[nodiscard]] bool next() noexcept;
  /// The slice. Its mask has the right shape; where needs_diagonal() it is still the call's own.
  [[nodiscard]] const AttentionCall& call() const noexcept { return slice_; }
  /// The slice is a part of a causal call that is_causal cannot express: row i sees keys 0..first_query()+i.
  [[nodiscard]] bool needs_diagonal() const noexcept { return needs_diagonal_; }
  [[nodiscard]] std::int64_t first_query() const noexcept { return query_; }

 private:
  void take_outer() noexcept;
  void take_heads() noexcept;
  void take_query() noexcept;
  [[nodiscard]] std::int64_t head_end() const noexcept;

  const AttentionCall& source_;
  std::int64_t batch_size_;
  std::int64_t head_size_;
  std::int64_t query_size_;
  std::int64_t group_;  ///< query heads that share a key/value head

  AttentionCall outer_;  ///< one element of the fifth dim, as rank 4
  AttentionCall heads_;  ///< of that, the batches and heads of the slice
  AttentionCall slice_;
  std::int64_t outer_at_ = 0;
  std::int64_t batch_ = 0;
  std::int64_t head_ = 0;
  std::int64_t query_ = 0;
  bool needs_diagonal_ = false;
  bool started_ = false;
};

}  // namespace attn
