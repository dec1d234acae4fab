// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of the kernels: what the device has an instruction for and the host computes to the same bits, except exp2.
#pragma once

#include "backends/cuda/grid/attributes.h"
#include "core/tensor/dtype.h"
#include "core/tensor/half.h"

#include <cmath>
#include <cstdint>

namespace attn::cuda {

template <class To, class From>
[[nodiscard]] ATTN_HD To bits_as(From value) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

[[nodiscard]] ATTN_HD float minus_infinity() noexcept { return bits_as<float>(0xFF800000U); }
inline constexpr float kLowest = -3.402823466e38F;
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

#if defined(__CUDA_ARCH__)

/// 2^x, by the special function unit: relative error 2^-22, results below 2^-126 are 0.
[[nodiscard]] __device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Two floats as a register of two binary16, `low` in the lower half.
[[nodiscard]] __device__ __forceinline__ std::uint32_t pack_half(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t pack_bfloat(float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
[[nodiscard]] __device__ __forceinline__ float half_value(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
[[nodiscard]] __device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
/// A product and a sum that stay two operations, as they are on the host.
[[nodiscard]] __device__ __forceinline__ float product(float a, float b) { return __fmul_rn(a, b); }
[[nodiscard]] __device__ __forceinline__ float sum(float a, float b) { return __fadd_rn(a, b); }
[[nodiscard]] __device__ __forceinline__ float quotient(float a, float b) { return __fdiv_rn(a, b); }
[[nodiscard]] __device__ __forceinline__ float log2_of(float x) { return ::log2f(x); }

#else

[[nodiscard]] inline float exp2_of(float x) { return std::exp2(x); }
[[nodiscard]] inline std::uint32_t pack_half(float low, float high) {
  return static_cast<std::uint32_t>(to_float16(low).bits) | static_cast<std::uint32_t>(to_float16(high).bits) << 16;
}
[[nodiscard]] inline std::uint32_t pack_bfloat(float low, float high) {
  return static_cast<std::uint32_t>(to_bfloat16(low).bits) | static_cast<std::uint32_t>(to_bfloat16(high).bits) << 16;
}
[[nodiscard]] inline float half_value(std::uint16_t bits) { return to_float(Float16{bits}); }
[[nodiscard]] inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
[[nodiscard]] inline float product(float a, float b) { return a * b; }
[[nodiscard]] inline float sum(float a, float b) { return a + b; }
[[nodiscard]] inline float quotient(float a, float b) { return a / b; }
[[nodiscard]] inline float log2_of(float x) { return std::log2(x); }

#endif

[[nodiscard]] ATTN_HD float bfloat_value(std::uint16_t bits) {
  return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The larger; the second where either is no number.
[[nodiscard]] ATTN_HD float larger(float a, float b) { return a > b ? a : b; }

/// One element as a float; booleans are 0 or 1.
[[nodiscard]] ATTN_HD float load_as_float(const void* data, DType dtype, std::int64_t at) {
  switch (dtype) {
    case DType::float16:
      return half_value(static_cast<const std::uint16_t*>(data)[at]);
    case DType::bfloat16:
      return bfloat_value(static_cast<const std::uint16_t*>(data)[at]);
    case DType::boolean:
      return static_cast<const std::uint8_t*>(data)[at] != 0 ? 1.0F : 0.0F;
    case DType::int8:
      return static_cast<float>(static_cast<const std::int8_t*>(data)[at]);
    case DType::float64:
      return static_cast<float>(static_cast<const double*>(data)[at]);
    case DType::float32:
      break;
  }
  return static_cast<const float*>(data)[at];
}

/// Writes one element of float32, float16 or bfloat16.
ATTN_HD void store_float(void* data, DType dtype, std::int64_t at, float value) {
  if (dtype == DType::float32) {
    static_cast<float*>(data)[at] = value;
  } else {
    const std::uint32_t both = dtype == DType::float16 ? pack_half(value, 0.0F) : pack_bfloat(value, 0.0F);
    static_cast<std::uint16_t*>(data)[at] = static_cast<std::uint16_t>(both);
  }
}

/// Probabilities and values in the numbers of their product.
[[nodiscard]] ATTN_HD std::uint32_t pack_pair(DType dtype, float low, float high) {
  return dtype == DType::float16 ? pack_half(low, high) : pack_bfloat(low, high);
}

}  // namespace attn::cuda
