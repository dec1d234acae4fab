// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/settings_file.h"

#include "app/cli/exchange_options.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"

namespace attn::cli {

Expected<void> import_settings(const std::string& path, Engine& engine) {
  const auto text = app::read_text(path);
  if (!text) return fail(text.error());
  const auto imported = guess_exchange_format(*text).read(*text, production_settings(engine), {});
  if (!imported) return fail(path + ": " + imported.error());
  if (!imported->problems.empty()) return fail(path + ": " + app::joined(imported->problems, "; "));
  if (auto taken = take_import(*imported, engine); !taken) return fail(path + ": " + taken.error());
  return {};
}

}  // namespace attn::cli
