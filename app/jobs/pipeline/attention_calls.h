// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/tensor/host_buffer.h"

#include <cstddef>
#include <cstdint>

namespace attn::app {

/// Who serves the attention of the networks. There is no other attention in them.
class AttentionCalls {
 public:
  AttentionCalls() = default;
  AttentionCalls(const AttentionCalls&) = delete;
  AttentionCalls& operator=(const AttentionCalls&) = delete;
  virtual ~AttentionCalls() = default;

  /// Serves the call of a call site; sites of one role are numbered from 0. False: the generation has to end, because
  /// a stop was asked for or nobody could serve; the output is not to be used.
  [[nodiscard]] virtual bool serve(Role role, std::size_t site, const AttentionCall& call) = 0;
  /// Where the tensors are said to be, and of which type they are.
  [[nodiscard]] virtual Device device() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
};

/// Query, key, value and output (batch, heads, tokens, head_dim), contiguous, written and read one head of one token
/// at a time from several threads at once.
class AttentionTensors {
 public:
  AttentionTensors() = default;
  AttentionTensors(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, DType dtype,
                   Device device);

  /// Stores the head_dim numbers of a token's head.
  void put_query(std::int64_t batch, std::int64_t head, std::int64_t token, const float* values) noexcept {
    put(query_, batch, head, token, values);
  }
  void put_key(std::int64_t batch, std::int64_t head, std::int64_t token, const float* values) noexcept {
    put(key_, batch, head, token, values);
  }
  void put_value(std::int64_t batch, std::int64_t head, std::int64_t token, const float* values) noexcept {
    put(value_, batch, head, token, values);
  }
  /// Reads what came out for all heads of a token: heads * head_dim numbers.
  void get_token(std::int64_t batch, std::int64_t token, float* values) const noexcept;

  /// The call, with a boolean mask (batch, 1, 1, tokens) where `mask` is not null.
  [[nodiscard]] AttentionCall call(const HostTensor* mask = nullptr) const;

 private:
  [[nodiscard]] std::int64_t offset(std::int64_t batch, std::int64_t head, std::int64_t token) const noexcept {
    return ((batch * heads_ + head) * tokens_ + token) * head_dim_;
  }
  void put(HostTensor& tensor, std::int64_t batch, std::int64_t head, std::int64_t token, const float* values) noexcept;

  std::int64_t heads_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t head_dim_ = 0;
  HostTensor query_, key_, value_, output_;
};

}  // namespace attn::app
