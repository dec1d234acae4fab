// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

class QCPAxis;

namespace attn::ui {

/// Lines, ticks, labels and grid of a plot's axis in a theme's colours and small face.
void style_axis(QCPAxis* axis, const Theme& theme);

}  // namespace attn::ui
