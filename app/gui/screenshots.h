// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace attn::app {

/// Runs the main job in a real window of this process and writes PNGs of its states to `folder`. Needs a
/// QApplication; the file names end in "-<theme>-<scale>x.png". Returns an exit status.
[[nodiscard]] int take_screenshots(const QString& folder, const QString& theme, int scale);

}  // namespace attn::app
