// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/route_match.h"
#include "ui/compare/run_archive.h"
#include "ui/link/settings_diff.h"

#include <QString>
#include <vector>

namespace attn::ui {

/// Calls and time of something in two runs: of everything, a role or a step.
struct PartChange {
  QString name;
  Role role = Role::none;
  int step = -1;  ///< -1: not of a step
  std::int64_t calls_then = 0;
  std::int64_t calls_now = 0;
  CallTime then;
  CallTime now;

  [[nodiscard]] bool timed() const noexcept { return then.known && now.known && calls_then > 0 && calls_now > 0; }
};

/// Calls of one kind that another backend serves now.
struct MovedCalls {
  Role role = Role::none;
  QString call;  ///< "1×24×4608×128 bf16"
  QString from;
  QString to;
  std::int64_t calls = 0;
  CallTime then;
  CallTime now;
};

/// Two runs side by side: `then` is the baseline. Plain values.
struct RunComparison {
  QString then_title;
  QString now_title;
  bool whole = true;  ///< both runs finished; else the newer one is a part and says so
  QString part;       ///< "Run #4 stopped at step 5 of 20: …"
  std::vector<QString> chain_then;
  std::vector<QString> chain_now;
  std::vector<SettingChange> settings;  ///< workload first, then what made the chain
  PartChange total;
  std::vector<PartChange> roles;
  std::vector<PartChange> steps;  ///< of the denoiser
  std::vector<MovedCalls> moved;  ///< most calls first
  std::int64_t moved_calls = 0;
  std::int64_t new_calls = 0;   ///< of kinds that the baseline has not
  std::int64_t gone_calls = 0;  ///< of the baseline, of kinds that this run has not
  /// "57 of 1 609 calls moved, 2 settings differ": what changed, in one line.
  [[nodiscard]] QString sentence() const;
};

/// A sentence where one of the two times is none: "the baseline was planned only". Empty where both are.
[[nodiscard]] QString untimed_reason(const PartChange& total);

[[nodiscard]] RunComparison compare_runs(const ArchivedRun& then, const ArchivedRun& now,
                                         const std::vector<OptionSpec>& specs, const std::vector<ModelInfo>& models);

/// What a run was asked for, as differences: model, inputs, how much is computed, picture.
[[nodiscard]] std::vector<SettingChange> request_changes(const ArchivedRun& then, const ArchivedRun& now,
                                                         const std::vector<ModelInfo>& models);

}  // namespace attn::ui
