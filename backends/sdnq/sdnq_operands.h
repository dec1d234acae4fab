// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/tasks.h"
#include "backends/sdnq/sdnq_options.h"
#include "backends/simd/int8_tiles.h"
#include "backends/simd/tiled_attention.h"

#include <optional>

namespace attn {

/// Queries, keys and values in the formats of SDNQ: one factor per token, keys smoothed and both rotated if asked for.
class SdnqOperands final : public OperandSource {
 public:
  SdnqOperands(const AttentionCall& call, const SdnqOptions& options);
  void load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const override;
  void load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                    QueryOperands& out) const override;
  /// Rotates the output back where the values were rotated.
  void finish_row(float* row) const override;

 private:
  void load_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const;
  /// The dtype that the mean, the scales and the quotients are computed in.
  [[nodiscard]] DType working_dtype(DType input) const noexcept;

  const AttentionCall& call_;
  const SdnqOptions& options_;
  std::int64_t key_width_;    ///< head_dim, padded to a power of two when quantised
  std::int64_t value_width_;  ///< the same for value_dim when rotated, and whole vectors
  std::int64_t key_group_ = 0;
  std::int64_t value_group_ = 0;
};

/// The arithmetic inside a tile for these options and a call's value dtype.
[[nodiscard]] Arithmetic sdnq_arithmetic(const SdnqOptions& options, DType value_dtype) noexcept;

/// The same arithmetic for the INT8 kernel, where it has it: INT8 scores quantised in fp32, values as they are or INT8
/// too, and fp32 sums.
[[nodiscard]] std::optional<Int8Arithmetic> sdnq_int8(const SdnqOptions& options, const AttentionCall& call) noexcept;

/// The same on a GPU, where it has it: values in float16 or bfloat16, as they are.
[[nodiscard]] std::optional<cuda::Int8Options> sdnq_on_gpu(const SdnqOptions& options,
                                                           const AttentionCall& call) noexcept;

}  // namespace attn
