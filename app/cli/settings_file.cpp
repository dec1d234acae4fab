// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/settings_file.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"
#include "core/exchange/sdnext_config.h"

namespace attn::cli {

Expected<void> import_settings(const std::string& path, Engine& engine) {
  const auto text = app::read_text(path);
  if (!text) return fail(text.error());
  auto imported = import_config(*text, engine.specs());
  if (!imported) return fail(path + ": " + imported.error());
  if (!imported->problems.empty()) return fail(path + ": " + app::joined(imported->problems, "; "));
  ImportResult::Values all = std::move(imported->values);
  all.insert(all.end(), imported->absent.begin(), imported->absent.end());
  if (auto set = engine.set_all(all); !set) return fail(path + ": " + set.error());
  return {};
}

}  // namespace attn::cli
