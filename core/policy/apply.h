// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The denoiser slots of a pipeline whose model has a setter, in the order in which they are set.
[[nodiscard]] std::span<const std::string_view> dispatcher_slots() noexcept;

/// How the policy reaches a dispatcher. Any of the functions may throw; what they throw is caught and listed.
struct DispatcherPort {
  /// Slots that are there and have a setter, out of dispatcher_slots(). A U-Net has none.
  std::vector<std::string> denoisers;
  /// Gives the slot's processors a backend of their own and, as the dispatcher does, makes it the process-wide one.
  std::function<Expected<void>(std::string_view slot, std::string_view backend)> set;
  /// What the slot's processors hold; nullopt: they follow the process-wide backend.
  std::function<std::optional<std::string>(std::string_view slot)> own;
  std::function<std::string()> active;                     ///< the process-wide backend
  std::function<void(std::string_view backend)> activate;  ///< sets the process-wide one, leaves the processors alone
};

/// What applying a choice came to.
struct Applied {
  std::optional<std::string> engaged;  ///< set on at least one slot
  std::vector<std::string> denoisers;  ///< those that took it
  std::vector<std::string> failures;   ///< a sentence for each thing that did not work, in order
  bool restored = true;  ///< false: a slot or the process could not be put back to native; failures says which
};

/// Best effort on every slot. When a slot takes `backend`, it is engaged: the process-wide backend then goes back to
/// native, so that nothing else follows it, and slots that did not take it are put back to native. When nothing is
/// asked for or no slot takes it, whatever a slot or the process still holds of an earlier choice goes back to native;
/// where native is in force already, nothing is called. Never throws.
[[nodiscard]] Applied apply_attention(const std::optional<std::string>& backend, const DispatcherPort& port) noexcept;

}  // namespace attn
