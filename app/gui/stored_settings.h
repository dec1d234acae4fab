// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "ui/stored/stored_report.h"

namespace attn::app {

/// Puts the settings of a file of any format into the engine, with the default in the place of each value that does not
/// hold. Only reads the file. Blocks: for the start, before a window is shown.
[[nodiscard]] ui::StoredReport open_stored_settings(Engine& engine, const QString& path);

}  // namespace attn::app
