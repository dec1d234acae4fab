// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QString>

namespace attn::app {

/// Pictures of what a person meets before and around the work: examples, palette, keys, what a crash left, About.
/// False, with a sentence on stderr, when one cannot be written.
[[nodiscard]] bool take_workspace_screenshots(const QString& folder, const QString& suffix, ui::Theme& theme);

}  // namespace attn::app
