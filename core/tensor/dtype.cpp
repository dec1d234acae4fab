// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/dtype.h"

#include <array>

namespace attn {
namespace {

struct Names {
  DType dtype;
  std::string_view long_name;
  std::string_view short_name;
  std::string_view other;
};

constexpr std::array<Names, 6> kNames{{
    {DType::float32, "float32", "fp32", "f32"},
    {DType::float16, "float16", "fp16", "f16"},
    {DType::bfloat16, "bfloat16", "bf16", "bf16"},
    {DType::float64, "float64", "fp64", "f64"},
    {DType::int8, "int8", "int8", "i8"},
    {DType::boolean, "bool", "bool", "bool"},
}};

}  // namespace

std::string_view name_of(DType dtype) noexcept { return kNames[static_cast<std::size_t>(dtype)].long_name; }

std::string_view short_name_of(DType dtype) noexcept { return kNames[static_cast<std::size_t>(dtype)].short_name; }

std::optional<DType> parse_dtype(std::string_view text) noexcept {
  for (const Names& names : kNames) {
    if (text == names.long_name || text == names.short_name || text == names.other) return names.dtype;
  }
  if (text == "half") return DType::float16;
  if (text == "float") return DType::float32;
  return std::nullopt;
}

}  // namespace attn
