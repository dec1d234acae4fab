// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/descriptor.h"
#include "core/tensor/dtype.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::cudnn {

using Dims = std::array<std::int64_t, 4>;

/// One attention call as cuDNN sees it: everything that decides on a plan, nothing that changes from call to call (the
/// data, and the scale, which is passed by value). Strides in elements.
struct SdpaProblem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t query_tokens = 0;
  std::int64_t key_tokens = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  DType dtype = DType::bfloat16;  ///< of query, key, value and output
  Dims query_stride{};
  Dims key_stride{};
  Dims value_stride{};
  Dims output_stride{};
  bool is_causal = false;  ///< aligned top left
  struct Bias {
    DType dtype = DType::float32;
    Dims size{};  ///< each 1 or the call's: (batch, heads, query_tokens, key_tokens)
    Dims stride{};
    friend auto operator<=>(const Bias&, const Bias&) = default;  // NOLINT(modernize-use-nullptr): its own 0
  };
  std::optional<Bias> bias;  ///< added to the scaled scores
  bool block_mask = false;   ///< tiles of 128 x 128, eight to a byte

  friend auto operator<=>(const SdpaProblem&, const SdpaProblem&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Ids of the tensors that a call binds to memory.
struct TensorId {
  static constexpr std::int64_t query = 1;
  static constexpr std::int64_t key = 2;
  static constexpr std::int64_t value = 3;
  static constexpr std::int64_t output = 4;
  static constexpr std::int64_t scale = 5;  ///< one float, in host memory
  static constexpr std::int64_t bias = 6;
  static constexpr std::int64_t block_mask = 7;
  static constexpr std::int64_t minus_infinity = 8;  ///< one float, in host memory; with is_causal
};

inline constexpr std::int64_t kMaskTile = 128;
inline constexpr std::int64_t kTilesPerByte = 8;

/// An operation graph with everything that it refers to.
struct SdpaGraph {
  Descriptor graph;
  std::vector<Descriptor> parts;
};

/// Writes attention as matmul, scale, bias, causal mask, softmax and matmul, which cuDNN knows as fused attention; with
/// a block mask as its one attention operation. Errors are the maker's.
[[nodiscard]] SdpaGraph build_sdpa_graph(Maker& maker, const SdpaProblem& problem);

}  // namespace attn::cudnn
