// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/attention_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// What became of a request for an attention backend.
enum class SelectionState : std::uint8_t {
  engaged,     ///< the dispatcher gets the backend
  standard,    ///< the default attention, as was asked for or as auto decided
  rejected,    ///< asked for by name, but the target cannot run it
  unverified,  ///< the dispatcher gets the backend, although nobody knows whether the target can run it
};
/// "engaged", "default", "rejected", "unverified".
[[nodiscard]] std::string_view name_of(SelectionState state) noexcept;

/// The decision about one request.
struct Selection {
  std::string requested;               ///< normalised
  std::optional<std::string> backend;  ///< the dispatcher's name; nullopt: the default attention
  SelectionState state = SelectionState::standard;
  std::string reason;  ///< a sentence without its full stop
};

/// Decides an `attention_backend` request, which must be normalised, for a target.
///   auto: the best exact backend there is, and only while a speed profile is active; otherwise the default, so
///   that a generation without one stays bit-identical.
///   A name: honoured whatever the speed profile, unless its device or its capability gate forbids it. A capability
///   that nobody knows forbids nothing.
[[nodiscard]] Selection select_attention(std::string_view request, const Target& target, bool speed_active);

/// Decides a dispatcher's own name, which is what SD.Next's `hf_attention` holds, in any case. Empty is the default.
[[nodiscard]] Selection select_dispatcher_name(std::string_view name, const Target& target);

}  // namespace attn
