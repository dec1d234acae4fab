// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/precedence.h"
#include "core/router/explanation.h"
#include "core/router/router.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace attn {

/// What a role's calls are served by when the router is bypassed.
struct DirectRoute {
  PlanEntry entry;
  bool strict = true;  ///< a call that the entry declines fails; else the router serves it
};

/// Makes a dispatcher's backend ready for a target: prepared and probed like a chain's. Error: why it cannot serve.
[[nodiscard]] Expected<PlanEntry> prepare_direct(const Registry& registry, std::string_view backend,
                                                 const PrepareContext& context);

/// Why `entry` does not take a call, as a clause; empty when it takes it.
[[nodiscard]] std::string direct_refusal(const PlanEntry& entry, const AttentionCall& call);

/// Stands in front of the router, as diffusers' dispatcher does in the systems mirrored: a role without a direct
/// route is native and goes through the router; the others are served directly and observed as bypassed.
/// Immutable while a job runs, so it is built before anything is compiled. Not thread safe, like the router.
class Dispatcher {
 public:
  void set(Role role, DirectRoute route) { routes_.insert_or_assign(role, std::move(route)); }
  [[nodiscard]] const DirectRoute* route_of(Role role) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return routes_.empty(); }

  /// `site` is the compiled job's call site, or null. A failure's text is valid until the next call.
  Route operator()(Router& router, const AttentionCall& call, Role role, FrozenRoute* site);

 private:
  std::map<Role, DirectRoute> routes_;
  std::string failure_;
};

/// Puts into `explanation`, which the router made, what a decision and its direct route (null: none) do to the call.
/// `missing` says why a backend that was decided for has no route; empty when it has.
void explain_dispatch(Explanation& explanation, const AttentionDecision& decision, const DirectRoute* route,
                      const std::string& missing, const AttentionCall& call);

}  // namespace attn
