// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

namespace attn {

/// The first and the last `bump_steps` steps of a pass (at most half of them, rounded up) get min(1, budget + bump),
/// the others `budget`: at most two distinct budgets. A bump or a number of steps of 0 or less changes nothing.
struct BudgetSchedule {
  double budget = 0.3;  ///< share of the candidates
  double bump = 0.0;    ///< added near both ends of the pass
  std::int64_t bump_steps = 0;

  /// The budget of a step of a pass of `steps`: a step past the last reads the last one's, a negative one counts from
  /// the end and reads the first one's when it lies before it. An unknown number of steps (0 or less): `budget`.
  [[nodiscard]] double at(std::int64_t step, std::int64_t steps) const noexcept;

  /// All budgets of a pass, for a plot; empty when the number of steps is unknown.
  [[nodiscard]] std::vector<double> table(std::int64_t steps) const;
};

}  // namespace attn
