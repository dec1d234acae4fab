// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/target.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn {

/// Whether a machine can do something. Unknown is a state of its own: it blocks nothing and claims nothing.
enum class Support : std::uint8_t { supported, not_supported, unknown };
/// "supported", "not supported", "unknown".
[[nodiscard]] std::string_view name_of(Support support) noexcept;

/// The device that a backend is made for. CUDA emulated on other cards (ZLUDA) counts as neither.
enum class DeviceNeed : std::uint8_t { any, nvidia, rocm };

/// A bound on the CUDA compute capability times ten: at_least <= capability < below; 0 where there is no bound.
struct CapabilityGate {
  int at_least = 0;
  int below = 0;

  [[nodiscard]] constexpr bool stated() const noexcept { return at_least > 0 || below > 0; }
  [[nodiscard]] Support check(std::optional<int> capability) const noexcept;
  /// "compute capability 9.0 or later and below 10.0".
  [[nodiscard]] std::string text() const;
};
/// "8.6" for 86, "12.0" for 120.
[[nodiscard]] std::string capability_text(int capability);

/// One value that an `attention_backend` request may have, and the dispatcher's backend that it stands for.
struct AttentionAlias {
  std::string_view alias;
  std::string_view backend;  ///< the dispatcher's name; empty: the default attention
  DeviceNeed device = DeviceNeed::any;
  CapabilityGate gate{};
  std::string_view package{};  ///< what has to be installed; empty: part of torch
  bool exact = false;          ///< the same result but for rounding
};

/// Every value but `auto`, in the order in which they are listed to people.
[[nodiscard]] std::span<const AttentionAlias> attention_aliases() noexcept;
[[nodiscard]] const AttentionAlias* find_attention_alias(std::string_view alias) noexcept;

inline constexpr std::string_view kAutoRequest = "auto";
inline constexpr std::string_view kNativeBackend = "native";

/// The request as it is understood: nothing, blank and "auto" are auto; the others trimmed, in lower case. Error: the
/// value and those that there are.
[[nodiscard]] Expected<std::string> normalise_attention_request(std::optional<std::string_view> request);

/// Whether the target is the device that is asked for, as a platform says it.
[[nodiscard]] bool is_device(const Target& target, DeviceNeed need) noexcept;

}  // namespace attn
