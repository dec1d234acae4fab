// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/levers.h"
#include "app/jobs/tune/tune.h"
#include "ui/levers/levers_service.h"

namespace attn::app {

/// Every variant that can be measured, with its row where it has one. `running` is the one that is being measured.
[[nodiscard]] std::vector<ui::LeverFact> lever_facts(const std::vector<LeverVariant>& variants,
                                                     const LeverResult& result, const QString& running);
[[nodiscard]] ui::TuneFacts tune_facts(const TuneResult& result);

}  // namespace attn::app
