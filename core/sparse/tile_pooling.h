// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/tensor_view.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Means of runs of tokens of a tensor (batch, heads, tokens, head_dim) of any strides, summed and divided in fp32.
/// Not thread safe: each thread makes its own.
class TilePooler {
 public:
  /// `tensor` must have data and outlive the pooler.
  TilePooler(const TensorView& tensor, std::int64_t block);

  /// Writes the mean over the tokens that tile `tile` has, averaged over heads [first_head, last_head), to `mean`
  /// (head_dim elements).
  void pool(std::int64_t batch, std::int64_t first_head, std::int64_t last_head, std::int64_t tile,
            std::span<float> mean);

 private:
  void add_tokens(std::int64_t offset, std::int64_t tokens);

  const TensorView& tensor_;
  std::int64_t block_;
  std::vector<float> sum_;
};

}  // namespace attn
