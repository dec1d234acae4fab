// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>

namespace attn {

/// The causal mask of query slices that start below the first row: row i of a slice sees keys 0..first_query+i.
///
/// Without a mask of the call's own it is a view on one row of flags, whose step is -1 along queries and 1 along keys,
/// so it costs Sq + Sk bytes for all slices together. With one, both are combined into a buffer of the slice's size.
class Diagonal {
 public:
  explicit Diagonal(const AttentionCall& whole)
      : query_tokens_(whole.query_tokens()), key_tokens_(whole.key_tokens()) {}

  /// The mask for `slice`, valid until the next call.
  [[nodiscard]] TensorView mask(const AttentionCall& slice, std::int64_t first_query);

 private:
  [[nodiscard]] TensorView ramp(const AttentionCall& slice, std::int64_t first_query);
  [[nodiscard]] TensorView combined(const AttentionCall& slice, std::int64_t first_query);

  std::int64_t query_tokens_;
  std::int64_t key_tokens_;
  HostBuffer ramp_;
  HostTensor combined_;
};

/// The shape and dtype of that mask, without data.
[[nodiscard]] TensorView diagonal_shape(const AttentionCall& slice) noexcept;

}  // namespace attn
