// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sage/sage_variant.h"

#include "backends/simd/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

namespace attn {
namespace {

constexpr float kLargest = 127.0F;
constexpr float kEpsilon = 1e-7F;
constexpr int kMostGroups = 64;

/// Two e4m3 products of up to 448 * 2.25, 64 of them, stay inside fp16: the range of the fp16 inner sum.
constexpr float kNarrowRange = 2.25F;

constexpr SageVariant kTriton{"triton", SageGranularity::per_block, 128, 32, 64, 0.0F, Accumulator::fp16};
constexpr SageVariant kCudaFp16{"cuda fp32-accum", SageGranularity::per_thread, 128, 32, 64, 0.0F, Accumulator::fp32};
constexpr SageVariant kCudaFp8{"cuda fp8", SageGranularity::per_thread, 128, 32, 64, kNarrowRange, Accumulator::fp16};
constexpr SageVariant kCudaSm90{"cuda fp8 sm90", SageGranularity::per_thread, 64, 16, 128, 448.0F, Accumulator::fp32};
constexpr SageVariant kCudaSm120{"cuda fp8", SageGranularity::per_warp, 128, 32, 64, kNarrowRange, Accumulator::fp16};

/// Factor and whole numbers of one block, each variant with its library's own rounding and guard.
void quantise_block(const SageVariant& variant, bool keys, std::span<float> rows, std::int64_t width, float* factor) {
  const auto count = static_cast<std::int64_t>(rows.size()) / std::max<std::int64_t>(width, 1);
  const auto group_of = [&](std::int64_t i) {
    return static_cast<std::size_t>(keys ? key_group(variant, i) : query_group(variant, i));
  };
  std::array<float, kMostGroups> largest{};
  for (std::int64_t i = 0; i < count; ++i) {
    float& group = largest[group_of(i)];
    for (std::int64_t d = 0; d < width; ++d)
      group = std::max(group, std::fabs(rows[static_cast<std::size_t>(i * width + d)]));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    float scale = largest[group_of(i)] / kLargest;
    if (variant.granularity == SageGranularity::per_warp) scale = std::max(largest[group_of(i)], kEpsilon) / kLargest;
    if (variant.granularity == SageGranularity::per_thread) scale += kEpsilon;
    factor[i] = scale;
    for (std::int64_t d = 0; d < width; ++d) {
      float& value = rows[static_cast<std::size_t>(i * width + d)];
      const float wanted = scale == 0.0F ? 0.0F : value / scale;
      value = variant.granularity == SageGranularity::per_warp ? round_half_even(wanted) : round_half_away(wanted);
    }
  }
}

}  // namespace

int query_group(const SageVariant& variant, std::int64_t row_in_block) noexcept {
  if (variant.granularity == SageGranularity::per_block) return 0;
  const auto warp = static_cast<int>(row_in_block / variant.warp_rows);
  return variant.granularity == SageGranularity::per_warp ? warp : warp * 8 + static_cast<int>(row_in_block % 8);
}

int key_group(const SageVariant& variant, std::int64_t key_in_block) noexcept {
  return variant.granularity == SageGranularity::per_thread ? static_cast<int>(key_in_block % 8 / 2) : 0;
}

void quantise_sage(const SageVariant& variant, bool keys, float* rows, std::int64_t count, std::int64_t width,
                   std::vector<float>& factor) {
  factor.assign(static_cast<std::size_t>(count), 0.0F);
  const std::int64_t block = keys ? variant.key_block : variant.query_block;
  for (std::int64_t first = 0; first < count; first += block) {
    const auto in_block = static_cast<std::size_t>(std::min(block, count - first) * width);
    quantise_block(variant, keys, {rows + first * width, in_block}, width, factor.data() + first);
  }
}

Expected<SageVariant> sage_variant_for(const Target& target) {
  if (target.platform != "cuda" || !target.capability) return kTriton;
  switch (*target.capability) {
    case 80:
    case 86:
      return kCudaFp16;
    case 89:
      return kCudaFp8;
    case 90:
      return kCudaSm90;
    case 120:
    case 121:
      return kCudaSm120;
    default:
      break;
  }
  return fail("has no kernel for compute capability " + std::to_string(*target.capability / 10) + "." +
              std::to_string(*target.capability % 10) + "; there are kernels for 8.0, 8.6, 8.9, 9.0, 12.0 and 12.1");
}

Int8Arithmetic sage_int8(const SageVariant& variant, const AttentionCall& call) noexcept {
  Int8Arithmetic how;
  how.values = Int8Values::fp16;
  how.key_width = call.head_dim();
  how.value_width = call.value_dim();
  how.scheme.query_block = variant.query_block;
  how.scheme.key_block = variant.key_block;
  for (int i = 0; i < Int8Scheme::kMostTokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i < variant.query_block) how.scheme.query_group[at] = static_cast<std::uint8_t>(query_group(variant, i));
    if (i < variant.key_block) how.scheme.key_group[at] = static_cast<std::uint8_t>(key_group(variant, i));
  }
  if (variant.granularity == SageGranularity::per_warp) how.scheme.least_largest = kEpsilon;
  if (variant.granularity == SageGranularity::per_thread) how.scheme.added = kEpsilon;
  how.scheme.half_away = variant.granularity != SageGranularity::per_warp;
  return how;
}

std::optional<cuda::Int8Options> sage_on_gpu(const SageVariant& variant, const AttentionCall& call) {
  if (variant.value_range != 0.0F || variant.accumulator != Accumulator::fp32) return std::nullopt;
  const Int8Scheme scheme = sage_int8(variant, call).scheme;
  cuda::Int8Options options;
  switch (variant.granularity) {
    case SageGranularity::per_block:
      options.group = cuda::FactorGroup::block;
      break;
    case SageGranularity::per_warp:
      options.group = cuda::FactorGroup::warp;
      break;
    case SageGranularity::per_thread:
      options.group = cuda::FactorGroup::thread;
      break;
  }
  options.query_block = variant.query_block;
  options.key_block = variant.key_block;
  options.warp_rows = variant.warp_rows;
  options.least_largest = scheme.least_largest;
  options.added = scheme.added;
  options.half_away = scheme.half_away;
  options.value = DType::float16;
  return options;
}

}  // namespace attn
