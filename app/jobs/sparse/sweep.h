// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/sparse/quality.h"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// 5, 10, 15, 20, 30, 40, 50, 70 and 100 percent, as shares.
[[nodiscard]] std::vector<double> default_budgets();

/// One budget of a sweep.
struct SweepRow {
  double budget = 1.0;
  SparseQuality adaptive;
  double speedup = 0.0;  ///< dense seconds / seconds with the adaptive selection, selecting included
  std::optional<SparseQuality> radial;
  double radial_speedup = 0.0;
};

/// Error and time against budget.
struct SweepResult {
  std::string backend;
  std::string kernel;  ///< variant, the kernel's own word
  std::int64_t query_tiles = 0;
  std::int64_t key_tiles = 0;
  std::int64_t pinned_tiles = 0;  ///< of one head
  double dense_seconds = 0.0;
  std::vector<SweepRow> rows;  ///< in the order of the budgets; fewer when it was stopped
  int rounds = 0;              ///< whole rounds that the seconds are medians of
  JobOutcome outcome = JobOutcome::finished;
};

struct SweepOptions {
  std::vector<double> budgets = default_budgets();  ///< shares, each above 0 and at most 1
  std::optional<TokenLayout> layout;                ///< absent: the whole sequence is image
  bool head_shared = false;
  bool radial = true;  ///< measure the static control beside each
  int rounds = 1;      ///< times that everything is measured, dense and sparse taking turns; seconds are medians
  std::stop_token stop;
  /// Called on the calling thread before the first measurement and after each, with the rows that are there so far.
  std::function<void(const JobProgress&, const SweepResult&)> progress;
};

/// Measures one call for each budget. Returns stopped soon after a stop was asked for, between two measurements.
/// Error: options or a call that QualityProbe refuses; nothing was measured then.
[[nodiscard]] Expected<SweepResult> sweep_budgets(const AttentionCall& call, const PlanEntry& entry,
                                                  const SweepOptions& options);

}  // namespace attn::app
