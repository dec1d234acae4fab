// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/tile_pooling.h"

#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"

#include <algorithm>
#include <bit>

namespace attn {
namespace {

inline float widened(float value) noexcept { return value; }
inline float widened(BFloat16 value) noexcept { return to_float(value); }
/// to_float() without branches, so that a loop over it becomes vector code: the bits moved to fp32's places stand for
/// the value times 2^-112, denormals included; what would be infinite or no number then gets fp32's exponent for it.
inline float widened(Float16 value) noexcept {
  const std::uint32_t magnitude = value.bits & 0x7FFFU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112F);
  const std::uint32_t special = magnitude >= 0x7C00U ? 0x7F800000U : 0U;
  return std::bit_cast<float>(scaled | special | sign);
}

template <class T>
void add_rows(const T* first, std::int64_t stride, std::int64_t tokens, std::span<float> sum) noexcept {
  float* const out = sum.data();
  const auto dims = static_cast<std::int64_t>(sum.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    const T* const row = first + t * stride;
    for (std::int64_t d = 0; d < dims; ++d) out[d] += widened(row[d]);
  }
}

}  // namespace

TilePooler::TilePooler(const TensorView& tensor, std::int64_t block)
    : tensor_(tensor), block_(block), sum_(static_cast<std::size_t>(tensor.size(-1))) {}

void TilePooler::add_tokens(std::int64_t offset, std::int64_t tokens) {
  const std::int64_t token_step = tensor_.step(-2);
  if (tensor_.step(-1) == 1) {
    switch (tensor_.dtype) {
      case DType::float32:
        return add_rows(static_cast<const float*>(tensor_.data) + offset, token_step, tokens, sum_);
      case DType::float16:
        return add_rows(static_cast<const Float16*>(tensor_.data) + offset, token_step, tokens, sum_);
      case DType::bfloat16:
        return add_rows(static_cast<const BFloat16*>(tensor_.data) + offset, token_step, tokens, sum_);
      default:
        break;
    }
  }
  const std::int64_t dim_step = tensor_.step(-1);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::size_t d = 0; d < sum_.size(); ++d) {
      sum_[d] += load_element(tensor_, offset + t * token_step + static_cast<std::int64_t>(d) * dim_step);
    }
  }
}

void TilePooler::pool(std::int64_t batch, std::int64_t first_head, std::int64_t last_head, std::int64_t tile,
                      std::span<float> mean) {
  const std::int64_t start = tile * block_;
  const std::int64_t tokens = std::min(block_, tensor_.size(-2) - start);
  const auto count = static_cast<float>(tokens);
  const auto heads = static_cast<float>(last_head - first_head);
  std::fill(mean.begin(), mean.end(), 0.0F);
  for (std::int64_t head = first_head; head < last_head; ++head) {
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    add_tokens(batch * tensor_.step(-4) + head * tensor_.step(-3) + start * tensor_.step(-2), tokens);
    for (std::size_t d = 0; d < sum_.size(); ++d) mean[d] += sum_[d] / count;
  }
  for (float& value : mean) value /= heads;
}

}  // namespace attn
