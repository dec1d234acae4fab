// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/chain_options.h"
#include "app/jobs/exchange/exchange.h"
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

using app::production_settings;
using app::take_import;

}  // namespace attn::cli
