// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/plan.h"

#include "core/router/conformance.h"

#include <algorithm>

namespace attn {
namespace {

std::string typed(const BackendSpec& spec) { return "Torch attention: type=\"" + spec.label + "\" "; }

/// A list as the mirrored systems print it: ['a', 'b'].
std::string list_text(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) {
    if (text.size() > 1) text += ", ";
    text += "'" + word + "'";
  }
  return text + "]";
}

}  // namespace

std::string_view name_of(BackendState state) noexcept {
  switch (state) {
    case BackendState::ready:
      return "ready";
    case BackendState::disabled:
      return "disabled";
    case BackendState::unavailable:
      return "unavailable";
    case BackendState::failed:
      return "failed";
    case BackendState::skipped:
      return "skipped";
  }
  return "disabled";
}

std::shared_ptr<const Plan> Plan::build(const Registry& registry, PlanRequest request) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->request_ = std::move(request);
  const BackendSpec& original = registry.original();
  plan->original_ = {original.name, Gate(), {}, nullptr};
  plan->requested_ = original.name;
  if (original.prepare) plan->prepare(original, plan->original_);
  for (const BackendSpec& spec : registry.ascending()) plan->visit(spec);
  std::reverse(plan->entries_.begin(), plan->entries_.end());
  std::reverse(plan->reports_.begin(), plan->reports_.end());
  // The router meets the entries first, whatever the terminals' priorities.
  std::stable_partition(plan->reports_.begin(), plan->reports_.end(),
                        [](const auto& report) { return !report.terminal; });
  for (const PlanEntry& entry : plan->entries_) plan->chain_ += std::string(entry.name) + ">";
  plan->chain_ += plan->last().name;
  plan->request_.live = nullptr;  // whoever keeps the cells may be gone before the plan
  return plan;
}

void Plan::visit(const BackendSpec& spec) {
  BackendReport report{spec.name, spec.label, BackendState::disabled, {}, spec.terminal};
  if (!spec.on_platform(request_.target.platform)) {
    report.reason = "not available on platform " + request_.target.platform + ": it needs " +
                    (spec.platforms->empty() ? "a platform that does not exist" : platforms_text(spec));
  }
  const auto& labels = request_.labels;
  if (std::find(labels.begin(), labels.end(), spec.label) != labels.end()) {
    requested_ = spec.name;
    if (!spec.on_platform(request_.target.platform)) {
      report.state = BackendState::unavailable;
      log_.push_back({LogLevel::warning, typed(spec) + "not available on backend=" + request_.target.platform});
    } else {
      PlanEntry entry{spec.name, Gate(spec.constraints), spec.capabilities, nullptr};
      const Outcome outcome = prepare(spec, entry);
      report.state = outcome.state;
      report.reason = outcome.reason;
      if (report.state == BackendState::ready && spec.terminal)
        terminal_ = std::move(entry);
      else if (report.state == BackendState::ready)
        entries_.push_back(std::move(entry));
    }
  }
  reports_.push_back(std::move(report));
}

std::string Plan::platforms_text(const BackendSpec& spec) {
  std::string text;
  for (const std::string& platform : *spec.platforms) text += (text.empty() ? "" : " or ") + platform;
  return text;
}

Plan::Outcome Plan::prepare(const BackendSpec& spec, PlanEntry& entry) {
  if (const auto barred = request_.barred.find(spec.name); barred != request_.barred.end()) {
    log_.push_back({LogLevel::error, typed(spec) + barred->second});
    return {BackendState::failed, barred->second};
  }
  const PrepareContext context{request_.target, request_.options, original_.kernel, request_.live};
  Expected<PreparedBackend> prepared = spec.prepare(context);
  if (!prepared) {
    log_.push_back({LogLevel::error, typed(spec) + prepared.error()});
    return {BackendState::failed, prepared.error()};
  }
  if (!prepared->kernel) return {BackendState::skipped, "has nothing to serve on " + request_.target.name};
  if (!prepared->log_line.empty()) log_.push_back({LogLevel::debug, prepared->log_line});
  if (prepared->verified) entry.capabilities = entry.capabilities & *prepared->verified;
  entry.kernel = std::move(prepared->kernel);

  const Conformance conformance = probe_conformance(*entry.kernel, entry.gate.constraints());
  if (!conformance.barred.empty()) {
    log_.push_back({LogLevel::error, typed(spec) + conformance.barred});
    return {BackendState::failed, conformance.barred};
  }
  entry.gate = Gate(conformance.constraints);
  if (!conformance.note.empty()) log_.push_back({LogLevel::warning, typed(spec) + conformance.note});
  return {BackendState::ready, conformance.note};
}

std::string Plan::chain_line(bool sparse) const {
  return "Torch attention: chain=" + chain_ + " overrides=" + list_text(request_.labels) +
         " backend=" + request_.target.platform + " sparse=" + (sparse ? "True" : "False");
}

}  // namespace attn
