// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Where a tensor lives as the router sees it. An emulated target's tensors are `accel` although their
/// bytes are in host memory: routing must see what it would see on the target.
struct Device {
  enum class Kind : std::uint8_t { cpu, accel };

  Kind kind = Kind::accel;
  std::int16_t index = -1;  ///< -1: "the one accelerator", written without a number

  [[nodiscard]] constexpr bool is_cpu() const noexcept { return kind == Kind::cpu; }
  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;

  [[nodiscard]] static constexpr Device cpu() noexcept { return {Kind::cpu, -1}; }
  [[nodiscard]] static constexpr Device accel(std::int16_t index = -1) noexcept { return {Kind::accel, index}; }
};

/// "cpu", "accel" or "accel:1".
[[nodiscard]] std::string to_string(const Device& device);

/// Reads what to_string writes, and "cuda", "cuda:1" as another way to write an accelerator.
[[nodiscard]] std::optional<Device> parse_device(std::string_view text);

}  // namespace attn
