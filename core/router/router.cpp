// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/router.h"

#include "core/router/now.h"

namespace attn {
namespace {

constexpr std::string_view kNobody = "no kernel is there to serve the call";

}  // namespace

Router::Router(std::shared_ptr<const Plan> plan, const GenerationContext* context, RouteObserver* observer,
               SelectionStage* stage, bool timing)
    : plan_(std::move(plan)), context_(context), observer_(observer), stage_(stage), timing_(timing) {}

Route Router::operator()(const AttentionCall& call) {
  const CallFacts facts(call);
  std::string_view fell_back;
  for (const PlanEntry& entry : plan_->entries()) {
    if (!entry.gate.accepts(facts, call)) continue;
    Route route = serve(entry, call, false, fell_back);
    // A kernel that fails where it had accepted leaves the call to the ones below it.
    if (route.failure.empty()) return route;
    if (fell_back.empty()) fell_back = route.failure;
  }
  return serve(plan_->last(), call, false, fell_back);
}

FrozenRoute::Guard::Guard(const AttentionCall& call) noexcept
    : query(call.query.shape),
      key(call.key.shape),
      dtype(call.query.dtype),
      on_cpu(call.query.device.is_cpu()),
      masked(call.attn_mask.has_value()),
      causal(call.is_causal) {}

const PlanEntry& Router::entry_of(const AttentionCall& call, FrozenRoute& site) {
  const FrozenRoute::Guard guard(call);
  if (site.plan_ != plan_ || site.guard_ != guard) {
    const CallFacts facts(call);
    site.entry_ = &plan_->last();
    for (const PlanEntry& entry : plan_->entries()) {
      if (!entry.gate.accepts(facts, call)) continue;
      site.entry_ = &entry;
      break;
    }
    site.plan_ = plan_;
    site.guard_ = guard;
    ++site.resolutions_;
  }
  return *site.entry_;
}

Route Router::operator()(const AttentionCall& call, FrozenRoute& site) {
  const PlanEntry& entry = entry_of(call, site);
  const Route route = serve(entry, call);
  return route.failure.empty() || &entry == &plan_->last() ? route : (*this)(call);
}

Route Router::serve(const PlanEntry& entry, const AttentionCall& call, bool bypassed, std::string_view fell_back) {
  if (!entry.kernel) return {entry.name, {}, {}, false, kNobody};
  const BlockSelection* selection = nullptr;
  std::string_view stage_reason;
  if (stage_ != nullptr && !bypassed && entry.capabilities.block_mask && context_ != nullptr) {
    const StageDecision decision = stage_->decide(call, *context_, entry.capabilities, entry.kernel.get());
    selection = decision.selection;
    if (selection == nullptr) stage_reason = decision.why_dense();
  }
  const bool compute = call.has_data();
  const bool timed = timing_ && observer_ != nullptr && compute;
  const std::int64_t begin = timed ? now_ns() : 0;
  const KernelResult result = compute ? entry.kernel->run(call, selection) : entry.kernel->route(call, selection);
  const std::int64_t end = !timed ? 0 : result.device_ns > 0 ? begin + result.device_ns : now_ns();
  if (fell_back.empty()) fell_back = result.fell_back;
  const Route route{entry.name, result.backend, result.variant, selection != nullptr, result.failure, fell_back};
  if (observer_ != nullptr && result.failure.empty()) {
    const std::string_view requested = bypassed ? entry.name : requested_.empty() ? plan_->requested() : requested_;
    observer_->observe({call, requested, entry.name, result.backend, result.variant, selection,
                        context_ == nullptr ? Role::none : context_->role(), context_ == nullptr ? 0 : context_->step(),
                        compute, begin, end, stage_reason, bypassed, fell_back});
  }
  return route;
}

}  // namespace attn
