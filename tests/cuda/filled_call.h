// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <cstring>

namespace attn::test {

/// A call in bfloat16 with data that follows from `seed`: (1, heads, query_tokens, dim) on key_tokens keys.
struct FilledCall {
  HostTensor query, key, value, output;
  AttentionCall call;

  FilledCall(unsigned seed, std::int64_t query_tokens, std::int64_t key_tokens, std::int64_t heads = 2,
             std::int64_t dim = 64)
      : query({1, heads, query_tokens, dim}, DType::bfloat16),
        key({1, heads, key_tokens, dim}, DType::bfloat16),
        value({1, heads, key_tokens, dim}, DType::bfloat16),
        output({1, heads, query_tokens, dim}, DType::bfloat16) {
    for (HostTensor* tensor : {&query, &key, &value}) {
      auto* bits = static_cast<std::uint16_t*>(tensor->view().data);
      for (std::int64_t i = 0; i < tensor->view().elements(); ++i) {
        seed = seed * 1664525U + 1013904223U;
        bits[i] = to_bfloat16(static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1.0F).bits;
      }
    }
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
  }

  /// Makes every output element no number.
  void clear() const { std::memset(call.output.data, 0xFF, static_cast<std::size_t>(call.output.bytes())); }
};

}  // namespace attn::test
