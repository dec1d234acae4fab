// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/profile/schedule.h"
#include "core/engine/engine.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// Backends of which one must serve: every call, or the calls of one role.
struct Requirement {
  std::optional<Role> role;
  std::vector<std::string> backends;
};

/// The sentence that says which requirement, or which attention backend that must not fall back, the call does not
/// meet and why; empty when all are met.
[[nodiscard]] std::string unmet_requirement(const std::vector<Requirement>& requirements,
                                            const Explanation& explanation, const AttentionCall& call, Role role);

/// The same for the first call of a schedule that does not meet one, under the chain in force. Runs nothing.
[[nodiscard]] std::string first_unmet(const CallSchedule& schedule, const std::vector<Requirement>& requirements,
                                      const Engine& engine);

}  // namespace attn::app
