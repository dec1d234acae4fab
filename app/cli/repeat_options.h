// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/compare/repeat.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace attn::cli {

/// --repeat N and --require-deterministic.
struct RepeatOptions {
  int runs = 0;  ///< 0: nothing is repeated
  bool required = false;

  void add(CLI::App& command);
  [[nodiscard]] bool wanted() const noexcept { return runs > 0; }
  /// The first result that is not bit-identical, as a sentence; empty when there is none or nobody asked.
  [[nodiscard]] std::string unmet(const std::vector<app::RepeatRow>& rows) const;
};

}  // namespace attn::cli
