// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/picture_metrics.h"
#include "core/registry/target.h"
#include "core/settings/settings.h"

#include <string>

namespace attn::app {

/// What became of one picture on a target.
struct PipelineCheck {
  PictureDistance distance;  ///< to the same picture with the same chain, emulated on the host
  double seconds = 0.0;      ///< of the picture on the target, transfers and all
  std::int64_t calls = 0;
  std::int64_t fell_back = 0;   ///< calls that another kernel than the chosen one computed
  std::string fell_back_first;  ///< why the first did
};

/// Draws a picture with the bundled model in `dtype`, once on `target` and once with the target emulated on this host,
/// both with `overrides`. Error: what kept a picture from being drawn.
[[nodiscard]] Expected<PipelineCheck> check_pipeline(const Target& target, const OptionList& overrides, DType dtype,
                                                     std::int64_t steps);

}  // namespace attn::app
