// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/compiled_forward.h"

#include "core/router/now.h"

#include <algorithm>
#include <utility>

namespace attn {

CompiledForward::Recording* CompiledForward::find(const std::vector<Part>& parts) noexcept {
  const auto known =
      std::find_if(kept_.begin(), kept_.end(), [&](const Recording& recording) { return recording.parts == parts; });
  return known == kept_.end() ? nullptr : &*known;
}

bool CompiledForward::drop() noexcept {
  const bool any = std::any_of(kept_.begin(), kept_.end(), [](const Recording& one) { return one.step != nullptr; });
  kept_.clear();
  return any;
}

/// One forward on its way through the router: what serves each call, then all of them at once.
struct Router::Forward {
  Router& router;
  std::span<const AttentionCall> calls;
  CompiledForward& out;
  std::vector<CompiledForward::Part> parts{};
  std::vector<BlockSelection> selections{};  ///< as of this step, without tiles; of a dense call not looked at
  std::vector<std::string_view> reasons{};   ///< why the stage left a call dense
  const StepRecorder* recorder = nullptr;

  /// Fills the above. Error: a call that no device records.
  [[nodiscard]] Expected<void> decide();
  [[nodiscard]] Expected<void> decide(const AttentionCall& call, const PlanEntry& entry);
  [[nodiscard]] StageDecision ask(const AttentionCall& call, const PlanEntry& entry) const;
  [[nodiscard]] CompiledForward::Recording record() const;
  [[nodiscard]] Expected<void> run(RecordedStep& step) const;
  void observe(std::int64_t begin, std::span<const double> milliseconds) const;
  [[nodiscard]] const BlockSelection* selection(std::size_t i) const noexcept {
    return parts[i].sparse ? &selections[i] : nullptr;
  }
};

StageDecision Router::Forward::ask(const AttentionCall& call, const PlanEntry& entry) const {
  if (router.stage_ == nullptr || !entry.capabilities.block_mask || router.context_ == nullptr) return {};
  return router.stage_->decide(call, *router.context_, entry.capabilities, entry.kernel.get());
}

Expected<void> Router::Forward::decide() {
  if (calls.empty()) return fail("there are no calls");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const PlanEntry& entry = router.entry_of(calls[i], out.site(i));
    if (auto decided = decide(calls[i], entry); !decided) return decided;
  }
  return {};
}

Expected<void> Router::Forward::decide(const AttentionCall& call, const PlanEntry& entry) {
  const StepRecorder* own = entry.kernel ? entry.kernel->recorder() : nullptr;
  if (own == nullptr) return fail(std::string(entry.name) + " computes on the host");
  if (recorder != nullptr && own != recorder) return fail("two devices serve its calls");
  recorder = own;
  AttentionCall planned = call;  // the stage chooses no tiles for what has no data
  planned.query.data = planned.key.data = planned.value.data = planned.output.data = nullptr;
  const StageDecision decision = ask(planned, entry);
  CompiledForward::Part part{.entry = &entry, .marks = {}, .budget = 0.0, .sparse = false, .call = call};
  part.sparse = decision.selection != nullptr;
  selections.push_back(part.sparse ? *decision.selection : BlockSelection{});
  const BlockSelection& selection = selections.back();
  if (part.sparse && selection.rule) {
    if (!entry.kernel->chooses_tiles(call, selection)) {
      return fail(std::string(entry.name) + " has its tiles chosen on the host");
    }
    part.marks = selection.rule.marks;
  } else if (part.sparse) {
    part.budget = selection.budget;
  }
  const bool asked = router.stage_ != nullptr && entry.capabilities.block_mask && router.context_ != nullptr;
  reasons.push_back(part.sparse || !asked ? std::string_view() : decision.why_dense());
  parts.push_back(std::move(part));
  return {};
}

CompiledForward::Recording Router::Forward::record() const {
  CompiledForward::Recording recording{parts, nullptr, {}};
  std::vector<BlockSelection> chosen(selections);
  std::vector<StepCall> steps;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // A static pattern's tiles are part of what is recorded.
    if (parts[i].sparse && !chosen[i].rule) chosen[i] = *ask(calls[i], *parts[i].entry).selection;
    steps.push_back({parts[i].entry->kernel.get(), &calls[i], parts[i].sparse ? &chosen[i] : nullptr});
  }
  std::vector<float> budgets;
  if (router.stage_ != nullptr && router.context_ != nullptr) {
    for (std::int32_t step = 0; step < std::max(router.context_->steps(), 1); ++step) {
      budgets.push_back(static_cast<float>(router.stage_->budget_at(step, router.context_->steps())));
    }
  }
  auto step = recorder->record(steps, budgets);
  if (step) {
    recording.step = *std::move(step);
  } else {
    recording.refusal = step.error();
  }
  return recording;
}

Expected<void> Router::Forward::run(RecordedStep& step) const {
  std::vector<double> milliseconds(parts.size());
  const std::int64_t begin = now_ns();
  auto done = step.run(router.context_ == nullptr ? 0 : router.context_->step(), milliseconds);
  if (done && router.observer_ != nullptr) observe(begin, milliseconds);
  return done;
}

void Router::Forward::observe(std::int64_t begin, std::span<const double> milliseconds) const {
  const GenerationContext* context = router.context_;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PlanEntry& entry = *parts[i].entry;
    const std::int64_t end = begin + static_cast<std::int64_t>(milliseconds[i] * 1e6);
    const KernelResult served = entry.kernel->route(calls[i], selection(i));
    const std::string_view requested = router.requested_.empty() ? router.plan_->requested() : router.requested_;
    router.observer_->observe({calls[i], requested, entry.name, served.backend, served.variant, selection(i),
                               context == nullptr ? Role::none : context->role(),
                               context == nullptr ? 0 : context->step(), true, router.timing_ ? begin : 0,
                               router.timing_ ? end : 0, reasons[i]});
    begin = end;
  }
}

bool Router::records(std::span<const AttentionCall> calls, CompiledForward& forward) {
  const auto decided = Forward{*this, calls, forward}.decide();
  forward.refusal_ = decided ? std::string() : decided.error();
  return decided.has_value();
}

bool Router::compute_as_one(std::span<const AttentionCall> calls, CompiledForward& forward) {
  if (forward.plan_ != plan_) {
    (void)forward.drop();
    forward.plan_ = plan_;
  }
  forward.refusal_.clear();
  Forward one{*this, calls, forward};
  if (auto decided = one.decide(); !decided) {
    forward.refusal_ = decided.error();
    return false;
  }
  CompiledForward::Recording* known = forward.find(one.parts);
  if (known == nullptr) {
    if (forward.kept_.size() == CompiledForward::kMostRecordings) forward.kept_.pop_back();
    forward.kept_.push_front(one.record());
    known = &forward.kept_.front();
    if (known->step) ++forward.recordings_;
  }
  if (known->step) {
    auto done = one.run(*known->step);
    if (done) return true;
    known->step.reset();  // what a device could not do once it is not asked again
    known->refusal = done.error();
  }
  forward.refusal_ = known->refusal;
  return false;
}

}  // namespace attn
