// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/attention_calls.h"

#include "core/tensor/half.h"

#include <algorithm>

namespace attn::app {

AttentionTensors::AttentionTensors(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim,
                                   DType dtype, Device device)
    : heads_(heads),
      tokens_(tokens),
      head_dim_(head_dim),
      query_({batch, heads, tokens, head_dim}, dtype, device),
      key_({batch, heads, tokens, head_dim}, dtype, device),
      value_({batch, heads, tokens, head_dim}, dtype, device),
      output_({batch, heads, tokens, head_dim}, dtype, device) {}

void AttentionTensors::put(HostTensor& tensor, std::int64_t batch, std::int64_t head, std::int64_t token,
                           const float* values) noexcept {
  const std::int64_t at = offset(batch, head, token);
  switch (tensor.view().dtype) {
    case DType::float16:
      std::transform(values, values + head_dim_, tensor.as<Float16>() + at, [](float x) { return to_float16(x); });
      break;
    case DType::bfloat16:
      std::transform(values, values + head_dim_, tensor.as<BFloat16>() + at, [](float x) { return to_bfloat16(x); });
      break;
    default:
      std::copy_n(values, head_dim_, tensor.as<float>() + at);
  }
}

void AttentionTensors::get_token(std::int64_t batch, std::int64_t token, float* values) const noexcept {
  for (std::int64_t head = 0; head < heads_; ++head, values += head_dim_) {
    const std::int64_t at = offset(batch, head, token);
    switch (output_.view().dtype) {
      case DType::float16:
        std::transform(output_.as<Float16>() + at, output_.as<Float16>() + at + head_dim_, values,
                       [](Float16 x) { return to_float(x); });
        break;
      case DType::bfloat16:
        std::transform(output_.as<BFloat16>() + at, output_.as<BFloat16>() + at + head_dim_, values,
                       [](BFloat16 x) { return to_float(x); });
        break;
      default:
        std::copy_n(output_.as<float>() + at, head_dim_, values);
    }
  }
}

AttentionCall AttentionTensors::call(const HostTensor* mask) const {
  AttentionCall call;
  call.query = query_.view();
  call.key = key_.view();
  call.value = value_.view();
  call.output = output_.view();
  if (mask != nullptr) call.attn_mask = mask->view();
  return call;
}

}  // namespace attn::app
