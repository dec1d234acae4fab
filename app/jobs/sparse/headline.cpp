// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/headline.h"

#include "app/jobs/nearest.h"
#include "app/jobs/sparse/quality.h"
#include "core/sparse/sparse_stage.h"

#include <algorithm>

namespace attn::app {

std::string SparseHeadline::text() const {
  if (!on) return {};
  const std::string count = std::to_string(served) + " of " + std::to_string(calls) + " calls";
  return served > 0 || reason.empty() ? "Sparse served " + count : "Sparse is on but served " + count + ": " + reason;
}

SparseHeadline sparse_headline(const Registry& registry, const Plan& plan, const trace::TraceSnapshot& snapshot) {
  SparseHeadline headline;
  headline.on = sparse_options_from(plan.captured()).ask_for_stage();
  if (!headline.on) return headline;
  std::vector<std::string> servers;
  std::vector<std::string> skips;
  std::vector<std::string> bypassing;
  for (const trace::RouteRow& row : snapshot.routes) {
    headline.calls += row.calls;
    if (row.id.backend.ends_with("+sparse")) headline.served += row.calls;
    for (const trace::StageSkip& skip : row.stage_skips) {
      if (std::find(skips.begin(), skips.end(), skip.reason) == skips.end()) skips.push_back(skip.reason);
    }
    if (row.id.bypassed && std::find(bypassing.begin(), bypassing.end(), row.id.backend) == bypassing.end()) {
      bypassing.push_back(row.id.backend);
    }
    if (std::find(servers.begin(), servers.end(), row.id.backend) == servers.end()) servers.push_back(row.id.backend);
  }
  if (headline.served > 0 || headline.calls == 0) return headline;
  std::vector<std::string> able;
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.capabilities.block_mask) able.emplace_back(entry.name);
  }
  if (!bypassing.empty()) {
    headline.reason =
        "attention_backend " + joined(bypassing, " and ") + " owns the model and bypasses the router: ask for native";
  } else if (able.empty()) {
    headline.reason = nobody_takes_block_masks(registry);
  } else if (std::none_of(servers.begin(), servers.end(), [&able](const std::string& name) {
               return std::find(able.begin(), able.end(), name) != able.end();
             })) {
    headline.reason = joined(servers, " and ") + " served every call and " + (servers.size() > 1 ? "take" : "takes") +
                      " no block mask, while " + joined(able, " and ") +
                      " came after or declined; `attnctl explain` says why";
  } else {
    headline.reason = joined(able, " and ") + " served, but the stage left every call dense" +
                      (skips.empty() ? "" : ": " + joined(skips));
  }
  return headline;
}

}  // namespace attn::app
