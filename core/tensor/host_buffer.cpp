// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/host_buffer.h"

#include "core/tensor/half.h"

namespace attn {

float load_element(const TensorView& view, std::int64_t offset) noexcept {
  switch (view.dtype) {
    case DType::float32:
      return static_cast<const float*>(view.data)[offset];
    case DType::float64:
      return static_cast<float>(static_cast<const double*>(view.data)[offset]);
    case DType::float16:
      return to_float(static_cast<const Float16*>(view.data)[offset]);
    case DType::bfloat16:
      return to_float(static_cast<const BFloat16*>(view.data)[offset]);
    case DType::int8:
      return static_cast<float>(static_cast<const std::int8_t*>(view.data)[offset]);
    case DType::boolean:
      return static_cast<const std::uint8_t*>(view.data)[offset] != 0 ? 1.0F : 0.0F;
  }
  return 0.0F;
}

void store_element(const TensorView& view, std::int64_t offset, float value) noexcept {
  switch (view.dtype) {
    case DType::float32:
      static_cast<float*>(view.data)[offset] = value;
      return;
    case DType::float64:
      static_cast<double*>(view.data)[offset] = static_cast<double>(value);
      return;
    case DType::float16:
      static_cast<Float16*>(view.data)[offset] = to_float16(value);
      return;
    case DType::bfloat16:
      static_cast<BFloat16*>(view.data)[offset] = to_bfloat16(value);
      return;
    case DType::int8:
      static_cast<std::int8_t*>(view.data)[offset] = static_cast<std::int8_t>(value);
      return;
    case DType::boolean:
      static_cast<std::uint8_t*>(view.data)[offset] = value != 0.0F ? 1 : 0;
      return;
  }
}

}  // namespace attn
