// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/exchange/formats.h"

#include <string>
#include <vector>

namespace attn::app {

/// What the engine would take to production.
[[nodiscard]] ProductionSettings production_settings(const Engine& engine);

/// Puts an imported text into an engine, all or none. Error: the first problem.
[[nodiscard]] Expected<void> take_import(const ImportText& imported, Engine& engine);

/// One thing that an import changes.
struct SettingChange {
  std::string name;  ///< a setting's key, or "attention_backend", "speed profile", "quarantine", ...
  std::string before;
  std::string after;
  bool left_out = false;  ///< the text does not name it, which means its default there
};
/// What take_import() would change of `now`; empty when the text says what is there already, or has problems.
[[nodiscard]] std::vector<SettingChange> changes_of(const ImportText& imported, const ProductionSettings& now);

}  // namespace attn::app
