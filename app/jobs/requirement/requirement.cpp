// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/requirement/requirement.h"

#include "app/jobs/nearest.h"
#include "app/jobs/profile/profile_job.h"

#include <algorithm>

namespace attn::app {

std::string unmet_requirement(const std::vector<Requirement>& requirements, const Explanation& explanation,
                              const AttentionCall& call, Role role) {
  if (!explanation.dispatch.error.empty()) return explanation.dispatch.error + "; nothing ran";
  for (const Requirement& requirement : requirements) {
    if (requirement.role && requirement.role != role) continue;
    const auto& names = requirement.backends;
    const auto among = [&names](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (among(explanation.selected) && (explanation.executed.empty() || among(explanation.executed))) continue;
    std::string why;
    for (const BackendVerdict& entry : explanation.entries) {
      if (!among(entry.backend)) continue;
      if (!why.empty()) why += "; ";
      why += entry.backend + ": " + (entry.reason.empty() ? "another backend stands before it" : entry.reason);
    }
    return joined(names, " or ") + " is required but would not serve the " + std::string(name_of(role)) + " call q" +
           shape_text(call.query.sizes()) + " k" + shape_text(call.key.sizes()) + " " +
           std::string(name_of(call.query.dtype)) + " (" + why + "); " + explanation.selected + " would; nothing ran";
  }
  return {};
}

std::string first_unmet(const CallSchedule& schedule, const std::vector<Requirement>& requirements,
                        const Engine& engine) {
  for (const DistinctCall& distinct : schedule.distinct) {
    if (distinct.times == 0) continue;
    const AttentionCall call =
        schedule.devices_stated ? distinct.call : placed_on(engine.plan()->target(), distinct.call);
    std::string unmet = unmet_requirement(requirements, engine.explain(call, distinct.role, 0), call, distinct.role);
    if (!unmet.empty()) return unmet;
  }
  return {};
}

}  // namespace attn::app
