// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <string>

namespace attn::cli {

/// Reads a config.json of SD.Next, a profile or any other format that is recognised into the engine, all or none.
/// Error: the file, the key and the value.
[[nodiscard]] Expected<void> import_settings(const std::string& path, Engine& engine);

}  // namespace attn::cli
