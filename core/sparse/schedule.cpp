// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/schedule.h"

#include <algorithm>

namespace attn {

double BudgetSchedule::at(std::int64_t step, std::int64_t steps) const noexcept {
  if (steps <= 0 || bump_steps <= 0 || !(bump > 0.0)) return budget;
  std::int64_t index = std::min(step, steps - 1);
  if (index < 0) index = std::max<std::int64_t>(index + steps, 0);
  const std::int64_t edge = std::min(bump_steps, steps / 2 + steps % 2);
  return index < edge || index >= steps - edge ? std::min(1.0, budget + bump) : budget;
}

std::vector<double> BudgetSchedule::table(std::int64_t steps) const {
  std::vector<double> budgets;
  for (std::int64_t step = 0; step < steps; ++step) budgets.push_back(at(step, steps));
  return budgets;
}

}  // namespace attn
