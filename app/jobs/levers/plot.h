// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/levers.h"

#include <string>

namespace attn::app {

/// Time against quality as an SVG document of 960 x 600: a mark and a name for each measured row, the Pareto front as
/// a line. To the left is faster (share of the baseline's time), up is closer to the exact result: PSNR for pictures,
/// relative L1 on a logarithmic axis otherwise, equal results on a line of their own at the top. Needs no scripts and
/// no fonts but a generic one.
[[nodiscard]] std::string levers_svg(const LeverResult& result);

}  // namespace attn::app
