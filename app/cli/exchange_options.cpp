// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/exchange_options.h"

namespace attn::cli {

void FormatOptions::add(CLI::App& command, const std::string& format_help) {
  command.add_option("--format", format, format_help)->type_name("NAME");
  command
      .add_option("--form", form,
                  "SD.Next: overrides (a list of backends) or selector (one method, newer); otherwise as the file is")
      ->type_name("FORM");
  command
      .add_option("--steps", steps,
                  "Steps of a generation, where dense steps at both ends become a window of it, or the other way round")
      ->type_name("N");
}

Expected<ExportOptions> FormatOptions::read() const {
  ExportOptions options;
  if (steps < 0) return fail("--steps " + std::to_string(steps) + ": write how many steps a generation has, 1 or more");
  options.steps = steps;
  if (form.empty()) return options;
  options.form = parse_sdnext_form(form);
  if (!options.form) return fail("--form " + form + ": write overrides or selector");
  return options;
}

std::string formats_help() {
  std::string text;
  for (const ExchangeFormat& format : exchange_formats()) {
    text += (text.empty() ? "" : "; ") + std::string(format.name) + ": " + std::string(format.title);
  }
  return text;
}

}  // namespace attn::cli
