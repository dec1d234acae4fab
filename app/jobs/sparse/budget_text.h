// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Share kept below which pictures are known to break (Sparse-VideoGen's advice is 0.2 to 0.25).
inline constexpr double kKeptFloor = 0.2;

/// A budget as people write it, as the share kept: "30" and "30%" are percent; "svg=0.10" (Sparse-VideoGen's
/// sparsity, the part kept), "vsa=0.9" (Video Sparse Attention's, the part skipped), "sla=30" (ComfyUI's node, percent
/// kept) and "sglang=0.3" (the part kept) are other systems' numbers.
/// Error: no number, or a share that is not above 0 and at most 100 %; the sentence names it.
[[nodiscard]] Expected<double> read_budget(std::string_view text);
/// Several, separated by commas. Error: also a budget that is given twice.
[[nodiscard]] Expected<std::vector<double>> read_budgets(std::string_view text);

/// "keep 10 % (skip 90 %)".
[[nodiscard]] std::string budget_text(double kept);
/// A sentence when the share is below kKeptFloor, else empty.
[[nodiscard]] std::string floor_warning(double kept);

/// What another system calls the same budget.
struct ForeignBudget {
  std::string system;
  std::string setting;
  std::string value;  ///< "not expressible" where the system has no such number
};
[[nodiscard]] std::vector<ForeignBudget> foreign_budgets(double kept);

}  // namespace attn::app
