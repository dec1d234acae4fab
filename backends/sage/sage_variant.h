// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/tasks.h"
#include "backends/simd/int8_tiles.h"
#include "backends/simd/tiled_attention.h"
#include "core/registry/target.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace attn {

/// Tokens that share one INT8 scale (SageAttention2, arXiv 2411.10958, section 3).
enum class SageGranularity : std::uint8_t {
  per_block,   ///< all tokens of a block
  per_warp,    ///< the rows of one warp; keys: the block
  per_thread,  ///< rows of a warp with one index mod 8; keys whose index mod 8 falls in one pair
};

/// One of the library's kernels, as data.
struct SageVariant {
  std::string_view name;  ///< "cuda fp32-accum", "cuda fp8", "cuda fp8 sm90", "triton"
  SageGranularity granularity = SageGranularity::per_block;
  int query_block = 128;
  int warp_rows = 32;  ///< query rows of one warp
  int key_block = 64;
  float value_range = 0.0F;  ///< largest e4m3 value of a channel; 0: values are fp16
  Accumulator accumulator = Accumulator::fp32;
};

/// The number of the group, inside its block, whose tokens share a scale.
[[nodiscard]] int query_group(const SageVariant& variant, std::int64_t row_in_block) noexcept;
[[nodiscard]] int key_group(const SageVariant& variant, std::int64_t key_in_block) noexcept;

/// Puts `count` rows of `width` floats into whole numbers -127..127 and writes one factor per row. The first row must
/// start a block.
void quantise_sage(const SageVariant& variant, bool keys, float* rows, std::int64_t count, std::int64_t width,
                   std::vector<float>& factor);

/// The kernel for a target: by compute capability on cuda, Triton elsewhere. The error says which capabilities have
/// one.
[[nodiscard]] Expected<SageVariant> sage_variant_for(const Target& target);

/// The same on a GPU; nullopt for variants with other values or sums.
[[nodiscard]] std::optional<cuda::Int8Options> sage_on_gpu(const SageVariant& variant, const AttentionCall& call);

/// A variant with fp16 values and fp32 sums, for the INT8 kernel.
[[nodiscard]] Int8Arithmetic sage_int8(const SageVariant& variant, const AttentionCall& call) noexcept;

}  // namespace attn
