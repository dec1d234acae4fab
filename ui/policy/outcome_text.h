// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/policy/policy_service.h"

namespace attn::ui {

/// What becomes of a role's choice, in words.
struct OutcomeText {
  QString headline;  ///< "flash3: supported on NVIDIA H100, engaged"
  const char* look;  ///< of the headline, as set_look() takes it
  QString detail;    ///< who serves then, why, and who decided; sentences
};
[[nodiscard]] OutcomeText outcome_text(const RoleOutcome& outcome, const QString& target);

/// "auto → default", "flash3 → rejected": for a heading.
[[nodiscard]] QString policy_note(const PolicyState& state);

}  // namespace attn::ui
