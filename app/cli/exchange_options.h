// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/chain_options.h"
#include "core/exchange/formats.h"

#include <string>

namespace attn::cli {

/// What export and import share: the format and what a format needs to know.
struct FormatOptions {
  std::string format;
  std::string form;
  std::int64_t steps = 0;

  void add(CLI::App& command, const std::string& format_help);
  /// Error: a form that there is not, or a number of steps below 0.
  [[nodiscard]] Expected<ExportOptions> read() const;
};

/// "sdnext: the config.json of SD.Next\nunsloth: ..." for help.
[[nodiscard]] std::string formats_help();

/// What the engine would take to production.
[[nodiscard]] ProductionSettings production_settings(const Engine& engine);

/// Puts an imported text into an engine, all or none. Error: the first problem.
[[nodiscard]] Expected<void> take_import(const ImportText& imported, Engine& engine);

}  // namespace attn::cli
