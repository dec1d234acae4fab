// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/lever_job.h"
#include "app/jobs/levers/variants.h"

#include <string>
#include <vector>

namespace attn::app {

/// What a variant would do to a job's calls, without computing.
struct VariantPlan {
  std::string chain;
  std::string signature;           ///< equal for variants of one job that give the same results in the same way
  std::string problem;             ///< not empty: it cannot run, and why
  bool unavailable = false;        ///< the problem is that the target has not what it needs
  std::vector<std::string> notes;  ///< backends that are enabled and not in the chain, with why
  /// Why the lever does nothing to any call, should it turn out to have another variant's routes; may be empty.
  std::string why_unchanged;
};

/// Asks `engine`, which must be idle and in the variant's state, about every call of the job at the first, a middle and
/// the last step.
[[nodiscard]] VariantPlan plan_variant(const LeverJob& job, Engine& engine, const LeverVariant& variant);

}  // namespace attn::app
