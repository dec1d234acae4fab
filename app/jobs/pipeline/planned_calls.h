// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"
#include "app/jobs/pipeline/generation_settings.h"
#include "core/call/attention_call.h"

#include <vector>

namespace attn::app {

/// A kind of call that a generation makes.
struct PlannedCall {
  AttentionCall call;  ///< without data
  Role role = Role::none;
};

/// Every distinct call of a generation with these settings, which must be good ones, on tensors of `device`.
[[nodiscard]] std::vector<PlannedCall> planned_calls(const GenerationSettings& settings, const ShapesConfig& config,
                                                     Device device);

}  // namespace attn::app
