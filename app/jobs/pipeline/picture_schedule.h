// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"
#include "app/jobs/pipeline/generation_settings.h"
#include "app/jobs/profile/schedule.h"

#include <string>

namespace attn::app {

/// "Shapes 128 x 128, 20 steps".
[[nodiscard]] std::string title_of(const GenerationSettings& settings);

/// The bundled model's pipeline and denoiser.
[[nodiscard]] PipelineInfo pipeline_of(const ShapesConfig& config);

/// Every call of a generation with these settings, which must be good ones, in the order in which it makes them; the
/// second pass counts its steps from zero again. What is asked of a profile's schedule can be asked of this.
[[nodiscard]] CallSchedule picture_schedule(const GenerationSettings& settings, const ShapesConfig& config);

}  // namespace attn::app
