// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdpa/math_attention.h"

#include "backends/simd/call_addresses.h"
#include "backends/simd/parallel_range.h"
#include "backends/simd/tile_math.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace attn {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }
std::int64_t padded(std::int64_t size) noexcept { return (size + 15) / 16 * 16; }

/// One (batch, head) from its inputs to its output.
void attend(const AttentionCall& call, const CallSizes& sizes, std::int64_t batch, std::int64_t head) {
  const TileMath& math = tile_math();
  const std::int64_t kv_head = head / (sizes.heads / sizes.kv_heads);
  const std::int64_t key_step = padded(sizes.key_tokens);
  const std::int64_t value_step = padded(sizes.value_dim);

  std::vector<float> query(count(sizes.query_tokens, sizes.head_dim));
  std::vector<float> rows(count(sizes.key_tokens, sizes.head_dim));
  std::vector<float> key(count(sizes.head_dim, key_step));
  std::vector<float> value(count(sizes.key_tokens, value_step));
  std::vector<float> scores(count(sizes.query_tokens, key_step));
  std::vector<float> out(count(sizes.query_tokens, value_step));
  load_rows(call.query, head_offset(call.query, batch, head), 0, sizes.query_tokens, query.data(), sizes.head_dim);
  load_rows(call.key, head_offset(call.key, batch, kv_head), 0, sizes.key_tokens, rows.data(), sizes.head_dim);
  load_rows(call.value, head_offset(call.value, batch, kv_head), 0, sizes.key_tokens, value.data(), value_step);
  for (std::int64_t j = 0; j < sizes.key_tokens; ++j) {
    const float* row = rows.data() + j * sizes.head_dim;
    for (std::int64_t d = 0; d < sizes.head_dim; ++d) key.data()[d * key_step + j] = row[d];
  }

  math.multiply(query.data(), sizes.head_dim, key.data(), key_step, scores.data(), key_step, sizes.query_tokens,
                sizes.head_dim, key_step, false);
  const float scale = sizes.head_dim == 0 ? 0.0F : static_cast<float>(call.effective_scale());
  for (std::int64_t i = 0; i < sizes.query_tokens; ++i) {
    float* row = scores.data() + i * key_step;
    math.scale_row(row, sizes.key_tokens, scale, nullptr);
    if (call.attn_mask) {
      apply_mask(*call.attn_mask, mask_offset(*call.attn_mask, call, batch, head, i), 0, sizes.key_tokens, row);
    }
    const std::int64_t visible = call.is_causal ? std::min(i + 1, sizes.key_tokens) : sizes.key_tokens;
    std::fill(row + visible, row + key_step, kNone);
    RowState state{kNone, 0.0F};
    math.softmax_row(row, key_step, &state);
    math.multiply_row(row, key_step, state.sum == 0.0F ? 0.0F : 1.0F / state.sum);
  }
  math.multiply(scores.data(), key_step, value.data(), value_step, out.data(), value_step, sizes.query_tokens,
                sizes.key_tokens, value_step, false);
  const std::int64_t offset = head_offset(call.output, batch, head);
  for (std::int64_t i = 0; i < sizes.query_tokens; ++i) store_row(call.output, offset, i, out.data() + i * value_step);
}

}  // namespace

void math_attention(const AttentionCall& call) {
  const CallSizes sizes = sizes_of(call);
  if (call.output.elements() == 0) return;
  parallel_range(sizes.batch * sizes.heads, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) attend(call, sizes, at / sizes.heads, at % sizes.heads);
  });
}

std::int64_t score_matrix_bytes(const AttentionCall& call) noexcept {
  const CallSizes sizes = sizes_of(call);
  return sizes.batch * sizes.heads * sizes.query_tokens * sizes.key_tokens * 4;
}

}  // namespace attn
