// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/mask_bias.h"

#include "backends/simd/call_addresses.h"

#include <algorithm>
#include <limits>

namespace attn::cudnn {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// What one row of the mask holds.
struct RowFacts {
  bool hides = false;  ///< a minus infinity
  bool low = false;    ///< a finite number that kNotAllowed would not lie below
};

RowFacts replace_infinities(float* row, std::int64_t count) {
  RowFacts facts;
  for (std::int64_t j = 0; j < count; ++j) {
    if (row[j] == kMinusInfinity) {
      row[j] = kNotAllowed;
      facts.hides = true;
    } else if (row[j] <= kNotAllowed / 2) {
      facts.low = true;
    }
  }
  return facts;
}

}  // namespace

Expected<MaskBias> bias_of_mask(const AttentionCall& call) {
  const TensorView& mask = *call.attn_mask;
  const CallSizes sizes = sizes_of(call);
  // Leading dims of rank 5 are walked as one batch by mask_offset().
  const bool one_batch = mask.size(-5) == 1 && mask.size(-4) == 1;
  const std::int64_t batch = one_batch ? 1 : sizes.batch;
  const std::int64_t heads = mask.size(-3) == 1 ? 1 : sizes.heads;
  const std::int64_t queries = mask.size(-2) == 1 ? 1 : sizes.query_tokens;
  const std::int64_t keys = sizes.key_tokens;
  MaskBias result;
  const std::array<std::int64_t, 4> shape{batch, heads, queries, keys};
  result.bias = HostTensor(shape, DType::float32);
  result.query_tokens = call.is_causal ? sizes.query_tokens : queries;
  auto* to = static_cast<float*>(result.bias.view().data);
  std::vector<std::uint8_t> none(static_cast<std::size_t>(batch * heads * result.query_tokens));
  bool any_none = false;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < result.query_tokens; ++i) {
        float* row = to + ((b * heads + h) * queries + std::min(i, queries - 1)) * keys;
        if (i < queries) {
          apply_mask(mask, mask_offset(mask, call, b, h, i), 0, keys, row);
          const RowFacts facts = replace_infinities(row, keys);
          if (facts.hides && facts.low) {
            return fail("takes no mask that mixes minus infinity with finite numbers below -5e29");
          }
        }
        const std::int64_t visible = call.is_causal ? std::min(i + 1, keys) : keys;
        const bool hidden = std::all_of(row, row + visible, [](float value) { return value == kNotAllowed; });
        none[static_cast<std::size_t>((b * heads + h) * result.query_tokens + i)] = hidden ? 1 : 0;
        any_none = any_none || hidden;
      }
    }
  }
  if (any_none) result.none = std::move(none);
  return result;
}

void clear_rows(const MaskBias& bias, const AttentionCall& call) {
  if (bias.none.empty()) return;
  const CallSizes sizes = sizes_of(call);
  const TensorView& shape = bias.bias.view();
  const std::vector<float> zeros(static_cast<std::size_t>(sizes.value_dim));
  for (std::int64_t b = 0; b < sizes.batch; ++b) {
    for (std::int64_t h = 0; h < sizes.heads; ++h) {
      const std::int64_t offset = head_offset(call.output, b, h);
      const std::int64_t row = (std::min(b, shape.size(0) - 1) * shape.size(1) + std::min(h, shape.size(1) - 1));
      for (std::int64_t i = 0; i < sizes.query_tokens; ++i) {
        const std::int64_t at = row * bias.query_tokens + std::min(i, bias.query_tokens - 1);
        if (bias.none[static_cast<std::size_t>(at)] != 0) store_row(call.output, offset, i, zeros.data());
      }
    }
  }
}

}  // namespace attn::cudnn
