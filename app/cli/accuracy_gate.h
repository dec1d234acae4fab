// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/compare/compare.h"
#include "core/engine/engine.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace attn::cli {

/// What `compare` does with a second chain whose numbers are wrong: its backend is quarantined on that architecture.
struct AccuracyGate {
  double least_cosine = 0.0;  ///< 0: nothing is judged
  std::string profile;        ///< where the quarantine is kept; empty: it is only said

  void add(CLI::App& command);
  /// Judges every computed row of the second chain by its worst cosine and writes the profile. Error: the file.
  /// Returns a sentence for each backend that is quarantined now.
  [[nodiscard]] Expected<std::vector<std::string>> judge(const app::CompareResult& result, Engine& engine) const;
};

}  // namespace attn::cli
