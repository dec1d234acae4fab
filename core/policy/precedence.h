// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/policy/selection.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Who decides, highest first.
enum class ChoiceLevel : std::uint8_t { required_by_model, explicit_for_role, explicit_for_all, measured, standard };
/// "required by the model", "explicit per role", "explicit for all", "measured", "default".
[[nodiscard]] std::string_view name_of(ChoiceLevel level) noexcept;
[[nodiscard]] constexpr bool is_explicit(ChoiceLevel level) noexcept { return level < ChoiceLevel::measured; }

/// The roles for which an attention backend can be chosen.
inline constexpr std::array kChoiceRoles{Role::te, Role::transformer, Role::vae};

/// A backend that a measurement found best.
struct MeasuredChoice {
  std::string backend;  ///< an alias or a dispatcher name
  double gain = 0.0;    ///< share of the time saved against the default
  double noise = 0.02;  ///< a gain that is not above this proves nothing
};

/// Everything that was said about which attention backend to use. Values are aliases of `attention_backend` or
/// names of the dispatcher.
struct AttentionChoices {
  std::optional<std::string> required;  ///< by the model, for its denoiser
  std::map<Role, std::string> per_role;
  std::optional<std::string> all;  ///< an `attention_backend` request
  std::string dispatcher;          ///< SD.Next's `hf_attention`; explicit for all, below `all`
  std::map<Role, MeasuredChoice> measured;
  std::string standard = std::string(kAutoRequest);  ///< the platform's default
  std::map<Role, bool> strict;                       ///< where it is set by hand; else strict where somebody chose
  bool speed_active = false;

  friend bool operator==(const AttentionChoices&, const AttentionChoices&);
};

/// The decision for one role.
struct AttentionDecision {
  Role role = Role::transformer;
  ChoiceLevel level = ChoiceLevel::standard;
  Selection selection;
  std::string reason;   ///< which rule decided, then why the selection is as it is
  bool strict = false;  ///< rather an error than another backend

  /// A choice that cannot be met where that is an error.
  [[nodiscard]] bool is_error() const noexcept { return strict && selection.state == SelectionState::rejected; }
};

/// Whether the calls of a role can have a dispatcher's backend. The denoiser takes every one; text encoder and VAE
/// call torch's attention, so they take native and what goes through torch. An empty name is native.
[[nodiscard]] bool role_takes(Role role, std::string_view backend);

/// Decides for a role: required by the model, explicit per role, explicit for all, measured, default; the first that
/// says something about the role counts. What is said for all or by default means the denoiser and leaves the other
/// roles with torch's attention; an explicit choice for a role that cannot have it is rejected.
[[nodiscard]] AttentionDecision decide_attention(const AttentionChoices& choices, Role role, const Target& target);

/// Checks every name in `choices`. Error: the first that is neither an alias nor a dispatcher's name.
[[nodiscard]] Expected<void> check_choices(const AttentionChoices& choices);

/// Reads "sage", "transformer=flash3,te=native" or "sage,vae=native" into `all` and `per_role`, which are replaced.
[[nodiscard]] Expected<void> read_attention_request(std::string_view text, AttentionChoices& choices);
/// Reads which roles are strict: "all", "none", "transformer", "te=off,vae=on". What is not named keeps its rule.
[[nodiscard]] Expected<void> read_strictness(std::string_view text, AttentionChoices& choices);

}  // namespace attn
