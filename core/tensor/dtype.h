// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attn {

/// Element types that a tensor of an attention call may have.
enum class DType : std::uint8_t { float32, float16, bfloat16, float64, int8, boolean };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float64:
      return 8;
    case DType::float32:
      return 4;
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

/// The field's long name, as torch prints it without its prefix: "bfloat16".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// The short name that people write: "bf16".
[[nodiscard]] std::string_view short_name_of(DType dtype) noexcept;

/// Reads a long or a short name ("bfloat16", "bf16", "half", "fp32", ...); nullopt when it is none.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text) noexcept;

}  // namespace attn
