// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/repeat_options.h"

#include <algorithm>

namespace attn::cli {

void RepeatOptions::add(CLI::App& command) {
  command.add_option("--repeat", runs, "Then compute each distinct call N times and compare the bits")
      ->type_name("N")
      ->check(CLI::Range(2, 1000));
  command.add_flag("--require-deterministic", required,
                   "Exit code 1 when --repeat finds a result that is not bit-identical");
}

std::string RepeatOptions::unmet(const std::vector<app::RepeatRow>& rows) const {
  if (!required) return {};
  const auto differs = std::ranges::find_if(rows, [](const app::RepeatRow& row) { return !row.deterministic(); });
  return differs == rows.end() ? std::string() : differs->backend + " is " + differs->verdict() + ": " + differs->call;
}

}  // namespace attn::cli
