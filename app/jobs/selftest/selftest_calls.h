// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// A call to test with, as one says it.
struct SelftestCall {
  std::string name;
  std::int64_t batch = 1;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 2;
  std::int64_t query_tokens = 160;
  std::int64_t key_tokens = 160;
  std::int64_t head_dim = 64;
  DType dtype = DType::bfloat16;
  bool is_causal = false;
  enum class Mask : std::uint8_t { none, boolean, bias } mask = Mask::none;
  bool transposed = false;  ///< (batch, tokens, heads, head_dim) in memory
  double kept = 1.0;        ///< share of the tiles that a selection keeps; 1: no selection
  bool expanded = false;    ///< key and value are one head that is seen as all
  bool on_device = false;   ///< the tiles are not given: the device chooses them
};

/// The small calls that every kernel is checked on.
[[nodiscard]] std::vector<SelftestCall> selftest_checks();
/// The shapes of `./dev bench kernels`, and a video's.
[[nodiscard]] std::vector<SelftestCall> selftest_shapes();

/// A call with its tensors, normally distributed, always the same.
class FilledCall {
 public:
  explicit FilledCall(const SelftestCall& wanted);
  [[nodiscard]] const AttentionCall& call() const noexcept { return call_; }
  [[nodiscard]] const BlockSelection* selection() const noexcept { return selection_ ? &*selection_ : nullptr; }
  /// Attention in float64, by its definition, over the tiles that the host chooses where the device was to choose;
  /// (batch, heads, query_tokens, head_dim) packed.
  [[nodiscard]] std::vector<double> reference() const;
  /// Sum of |output - reference| over sum of |reference|; infinite where the output is not finite.
  [[nodiscard]] double error(const std::vector<double>& reference) const;

 private:
  HostTensor query_;
  HostTensor key_;
  HostTensor value_;
  HostTensor output_;
  HostTensor mask_;
  AttentionCall call_;
  std::optional<BlockSelection> selection_;
};

}  // namespace attn::app
