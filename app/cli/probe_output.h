// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/program.h"
#include "app/jobs/levers/levers.h"

#include <vector>

namespace attn::cli {

/// The table of a probe for people: what was measured, then what was not and why. `roles`: each role's time and errors
/// too.
void print_levers(const app::LeverResult& result, bool roles);

/// What would be measured.
void print_variants(const std::vector<app::LeverVariant>& variants);
[[nodiscard]] Json variants_json(const std::vector<app::LeverVariant>& variants);

}  // namespace attn::cli
