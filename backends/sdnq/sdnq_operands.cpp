// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdnq/sdnq_operands.h"

#include "backends/simd/rounding.h"

#include <algorithm>
#include <bit>

namespace attn {
namespace {

/// 256 * 256, by which the kernel brings fp16 products of full range into the range of fp16 sums.
constexpr float kHalfRange = 65536.0F;

std::int64_t power_of_two(std::int64_t size) noexcept {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))));
}

}  // namespace

SdnqOperands::SdnqOperands(const AttentionCall& call, const SdnqOptions& options)
    : call_(call),
      options_(options),
      key_width_(options.qk == NumberFormat::none ? call.head_dim() : power_of_two(call.head_dim())),
      value_width_(whole_vectors(call.value_dim())) {
  if (!options.use_hadamard || options.qk == NumberFormat::none) return;
  key_group_ = hadamard_group(options.hadamard_group_size, key_width_);
  if (options.pv == NumberFormat::none) return;
  value_group_ = hadamard_group(std::max<std::int64_t>(key_group_, 1), power_of_two(call.value_dim()));
  value_width_ = whole_vectors(power_of_two(call.value_dim()));
}

DType SdnqOperands::working_dtype(DType input) const noexcept {
  return options_.quantize_fp32 ? DType::float32 : input;
}

void SdnqOperands::load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const {
  const std::int64_t tokens = call_.key_tokens();
  out.key_width = key_width_;
  out.keys.assign(static_cast<std::size_t>(tokens * key_width_), 0.0F);
  load_rows(call_.key, head_offset(call_.key, batch, kv_head), 0, tokens, out.keys.data(), key_width_);
  if (options_.qk != NumberFormat::none) {
    const DType dtype = working_dtype(call_.key.dtype);
    if (options_.smooth_k) subtract_mean(out.keys.data(), tokens, key_width_, dtype);
    for (std::int64_t j = 0; j < tokens; ++j) hadamard(out.keys.data() + j * key_width_, key_width_, key_group_);
    quantise_rows(options_.qk, out.keys.data(), tokens, key_width_, dtype, out.key_factor);
  }
  load_values(batch, kv_head, out);
}

void SdnqOperands::load_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const {
  const std::int64_t tokens = call_.key_tokens();
  out.value_width = value_width_;
  out.values.assign(static_cast<std::size_t>(tokens * value_width_), 0.0F);
  load_rows(call_.value, head_offset(call_.value, batch, kv_head), 0, tokens, out.values.data(), value_width_);
  if (options_.pv == NumberFormat::none) {
    if (options_.use_fp16_accum)
      std::transform(out.values.begin(), out.values.end(), out.values.begin(), round_to_half);
    return;
  }
  const std::int64_t rotated = power_of_two(call_.value_dim());
  for (std::int64_t j = 0; j < tokens; ++j) hadamard(out.values.data() + j * value_width_, rotated, value_group_);
  quantise_rows(options_.pv, out.values.data(), tokens, value_width_, working_dtype(call_.value.dtype),
                out.value_factor);
}

void SdnqOperands::load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                                QueryOperands& out) const {
  out.rows.assign(static_cast<std::size_t>(count * key_width_), 0.0F);
  load_rows(call_.query, head_offset(call_.query, batch, head), first, count, out.rows.data(), key_width_);
  if (options_.qk == NumberFormat::none) return;
  for (std::int64_t i = 0; i < count; ++i) hadamard(out.rows.data() + i * key_width_, key_width_, key_group_);
  quantise_rows(options_.qk, out.rows.data(), count, key_width_, working_dtype(call_.query.dtype), out.factor);
}

void SdnqOperands::finish_row(float* row) const { hadamard(row, power_of_two(call_.value_dim()), value_group_); }

Arithmetic sdnq_arithmetic(const SdnqOptions& options, DType value_dtype) noexcept {
  Arithmetic how;
  how.query_tile = 64;
  how.key_tile = options.pv == NumberFormat::none ? 64 : 32;
  if (options.qk == NumberFormat::fp16 && options.use_fp16_accum) {
    how.scores = Accumulator::fp16;
    how.score_range = kHalfRange;
  }
  switch (options.pv) {
    case NumberFormat::none:
      if (value_dtype == DType::float16) how.probabilities = Probabilities::fp16;
      if (value_dtype == DType::bfloat16) how.probabilities = Probabilities::bf16;
      if (options.use_fp16_accum) {
        how.probabilities = Probabilities::fp16;
        how.values = Accumulator::fp16;
      }
      break;
    case NumberFormat::int8:
      how.probabilities = Probabilities::int8_tile;
      break;
    case NumberFormat::e4m3:
      how.probabilities = Probabilities::e4m3_tile;
      break;
    case NumberFormat::fp16:
      how.probabilities = Probabilities::fp16_tile;
      if (options.use_fp16_accum) {
        how.values = Accumulator::fp16;
        how.value_range = kHalfRange;
      }
      break;
  }
  return how;
}

std::optional<Int8Arithmetic> sdnq_int8(const SdnqOptions& options, const AttentionCall& call) noexcept {
  const bool in_fp32 =
      options.quantize_fp32 || (call.query.dtype == DType::float32 && call.key.dtype == DType::float32);
  const bool values = options.pv == NumberFormat::int8 || (options.pv == NumberFormat::none && !options.use_fp16_accum);
  if (options.qk != NumberFormat::int8 || !in_fp32 || !values) return std::nullopt;
  if (options.pv == NumberFormat::int8 && !options.quantize_fp32 && call.value.dtype != DType::float32) {
    return std::nullopt;
  }
  Int8Arithmetic how;
  how.smooth_keys = options.smooth_k;
  how.key_width = call.head_dim();
  how.value_width = call.value_dim();
  if (options.pv == NumberFormat::int8)
    how.values = Int8Values::int8;
  else if (call.value.dtype == DType::float16)
    how.values = Int8Values::fp16;
  else if (call.value.dtype == DType::bfloat16)
    how.values = Int8Values::bf16;
  if (!options.use_hadamard) return how;
  how.key_width = power_of_two(call.head_dim());
  how.key_group = hadamard_group(options.hadamard_group_size, how.key_width);
  if (options.pv == NumberFormat::int8) {
    how.value_width = power_of_two(call.value_dim());
    how.value_group = hadamard_group(std::max<std::int64_t>(how.key_group, 1), how.value_width);
  }
  return how;
}

std::optional<cuda::Int8Options> sdnq_on_gpu(const SdnqOptions& options, const AttentionCall& call) noexcept {
  const std::optional<Int8Arithmetic> how = sdnq_int8(options, call);
  if (!how || (how->values != Int8Values::fp16 && how->values != Int8Values::bf16)) return std::nullopt;
  cuda::Int8Options on_gpu;
  on_gpu.group = cuda::FactorGroup::token;
  on_gpu.smooth_keys = how->smooth_keys;
  if (how->key_group > 0) {
    on_gpu.rotated_channels = static_cast<int>(how->key_width);
    on_gpu.rotation_group = static_cast<int>(how->key_group);
  }
  on_gpu.least_largest = how->scheme.least_largest;
  on_gpu.added = how->scheme.added;
  on_gpu.half_away = how->scheme.half_away;
  on_gpu.value = call.value.dtype;
  return on_gpu;
}

}  // namespace attn
