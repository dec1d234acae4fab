// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/accuracy_gate.h"

#include "app/cli/exchange_options.h"
#include "app/jobs/files/atomic_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace attn::cli {
namespace {

/// The worst cosine of each backend of the second chain; a result with NaN in it is as wrong as can be.
std::map<std::string, double> worst_cosines(const app::CompareResult& result) {
  std::map<std::string, double> worst;
  for (const app::CompareRow& row : result.rows) {
    if (!row.computed || !row.b.failure.empty()) continue;
    const std::string backend = row.b.backend.substr(0, row.b.backend.find('+'));
    const bool bad = !std::isfinite(row.error.cosine) || row.b.nan > row.a.nan;
    const double cosine = bad ? 0.0 : row.error.cosine;
    const auto [at, is_new] = worst.emplace(backend, cosine);
    if (!is_new) at->second = std::min(at->second, cosine);
  }
  return worst;
}

}  // namespace

void AccuracyGate::add(CLI::App& command) {
  command
      .add_option("--least-cosine", least_cosine,
                  "Quarantine a backend of the second chain on this architecture when its cosine is below this")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("X");
  command
      .add_option("--quarantine", profile,
                  "A profile that keeps the quarantine; plan, run and explain take it by --import")
      ->type_name("FILE");
}

Expected<std::vector<std::string>> AccuracyGate::judge(const app::CompareResult& result, Engine& engine) const {
  std::vector<std::string> said;
  if (least_cosine <= 0.0) return said;
  ProductionSettings settings = production_settings(engine);
  const ExchangeFormat& format = **find_exchange_format("profile");
  std::error_code error;
  std::string before;
  ExportOptions options;
  options.target = engine.target().name;
  if (!profile.empty() && std::filesystem::exists(profile, error)) {
    const auto text = app::read_text(profile);
    if (!text) return fail(text.error());
    before = *text;
    const auto kept = format.read(before, settings, {});
    if (!kept) return fail(profile + ": " + kept.error());
    if (!kept->problems.empty()) return fail(profile + ": " + kept->problems.front());
    for (const auto& [key, value] : kept->values) settings.values.put(key, value);
    if (kept->attention) settings.attention = *kept->attention;
    settings.quarantine = kept->quarantine;
    options.target = kept->target;
  }
  for (const auto& [backend, cosine] : worst_cosines(result)) {
    if (backend == engine.registry().original().name) continue;  // nothing stands below it that could serve
    if (judge_accuracy(settings.quarantine, backend, engine.plan()->target(), cosine, least_cosine)) {
      said.push_back(backend + " " + settings.quarantine.back().reason());
    }
  }
  if (profile.empty()) return said;
  const auto made = format.write(settings, options);
  if (!made) return fail(made.error());
  if (made->text == before) return said;
  if (auto written = app::write_atomically(profile, made->text, app::Backup::keep); !written) {
    return fail(written.error());
  }
  return said;
}

}  // namespace attn::cli
