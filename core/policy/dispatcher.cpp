// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/dispatcher.h"

#include "core/policy/dispatcher_backend.h"
#include "core/router/conformance.h"

#include <utility>

namespace attn {
namespace {

std::string joined_platforms(const BackendSpec& spec) {
  std::string text;
  for (const std::string& platform : *spec.platforms) text += (text.empty() ? "" : " or ") + platform;
  return text;
}

/// The call goes past the chain: the record says who serves it instead.
void take_over(Explanation& out, const PlanEntry& entry, const AttentionCall& call) {
  for (BackendVerdict& verdict : out.entries) verdict.serves = false;
  out.requested = entry.name;
  out.selected = entry.name;
  out.sparse = false;
  out.reason = "the dispatcher serves it directly, the router and its chain " + out.chain + " are bypassed";
  out.stage = {};
  out.stage.reason = std::string(entry.name) + " bypasses the router, so the sparse stage is not asked";
  KernelForecast forecast = entry.kernel->forecast(call, nullptr);
  out.executed = forecast.would_run.backend;
  out.kernel = forecast.would_run.variant;
  out.memory_bytes = forecast.memory_bytes;
  out.kernel_choices = std::move(forecast.choices);
  out.warnings = std::move(forecast.warnings);
  out.to_move = {"the chain: ask for attention_backend native, as " + std::string(entry.name) + " bypasses it"};
}

}  // namespace

Expected<PlanEntry> prepare_direct(const Registry& registry, std::string_view backend, const PrepareContext& context) {
  const std::string name(backend);
  if (find_dispatcher_backend(backend) == nullptr) {
    return fail("the dispatcher has no backend " + name +
                (name == "aiter" ? "; newer ones call it aiter_fa2_hub, which hf_attention takes" : ""));
  }
  const BackendSpec* spec = registry.direct(backend);
  if (spec == nullptr) return fail("there is no kernel here that computes as " + name + " does");
  if (!spec->on_platform(context.target.platform)) {
    return fail(name + " needs the platform " + joined_platforms(*spec));
  }
  Expected<PreparedBackend> prepared = spec->prepare(context);
  if (!prepared) return fail(prepared.error());
  if (!prepared->kernel) return fail(name + " has nothing to serve on " + context.target.name);
  const Conformance conformance = probe_conformance(*prepared->kernel, spec->constraints);
  if (!conformance.barred.empty()) return fail(conformance.barred);
  return PlanEntry{spec->name, Gate(conformance.constraints), {}, std::move(prepared->kernel)};
}

std::string direct_refusal(const PlanEntry& entry, const AttentionCall& call) {
  for (const Verdict& verdict : explain(entry.gate.constraints(), call)) {
    if (!verdict.ok) return verdict.reason;
  }
  return std::string(entry.kernel->route(call, nullptr).failure);
}

const DirectRoute* Dispatcher::route_of(Role role) const noexcept {
  const auto found = routes_.find(role);
  return found == routes_.end() ? nullptr : &found->second;
}

Route Dispatcher::operator()(Router& router, const AttentionCall& call, Role role, FrozenRoute* site) {
  const auto through_router = [&] { return site != nullptr ? router(call, *site) : router(call); };
  const DirectRoute* direct = route_of(role);
  if (direct == nullptr) return through_router();
  const PlanEntry& entry = direct->entry;
  std::string why;
  if (entry.gate.accepts(CallFacts(call), call)) {
    const Route route = router.direct(entry, call);
    if (route.failure.empty()) return route;
    why = route.failure;
  } else {
    why = direct_refusal(entry, call);
  }
  if (direct->strict) {
    failure_ = std::string(entry.name) + " was asked for by name and declines it: " + why;
    return {entry.name, {}, {}, false, failure_};
  }
  router.set_requested(entry.name);
  const Route route = through_router();
  router.set_requested({});
  return route;
}

void explain_dispatch(Explanation& explanation, const AttentionDecision& decision, const DirectRoute* route,
                      const std::string& missing, const AttentionCall& call) {
  Explanation::Dispatch& out = explanation.dispatch;
  out.requested = decision.selection.requested;
  out.level = name_of(decision.level);
  out.state = name_of(decision.selection.state);
  out.reason = decision.reason;
  out.strict = decision.strict;
  out.backend = kNativeBackend;
  std::string declined = missing;
  if (route != nullptr) {
    declined = direct_refusal(route->entry, call);
    if (declined.empty()) {
      out.backend = route->entry.name;
      out.bypassed = true;
      take_over(explanation, route->entry, call);
      return;
    }
    declined = std::string(route->entry.name) + " declines the call: " + declined;
  }
  if (!declined.empty()) {
    out.state = name_of(SelectionState::rejected);
    out.reason += "; " + declined;
  }
  const bool refused = !declined.empty() || decision.selection.state == SelectionState::rejected;
  if (refused && decision.strict) {
    out.error = "attention_backend " + out.requested + " (" + out.level + ") cannot serve the " +
                std::string(name_of(decision.role)) + ": " + (declined.empty() ? decision.selection.reason : declined);
  } else if (refused) {
    explanation.warnings.push_back("attention_backend " + out.requested +
                                   " is not in force: " + (declined.empty() ? decision.selection.reason : declined) +
                                   "; the router serves the call");
  }
}

}  // namespace attn
