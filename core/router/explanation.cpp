// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/explanation.h"

#include <algorithm>

namespace attn {
namespace {

const PlanEntry* entry_of(const Plan& plan, std::string_view name) {
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.name == name) return &entry;
  }
  const PlanEntry* terminal = plan.terminal();
  return terminal != nullptr && terminal->name == name ? terminal : nullptr;
}

std::string first_failure(const std::vector<Verdict>& checks) {
  for (const Verdict& check : checks) {
    if (!check.ok) return check.reason;
  }
  return {};
}

BackendVerdict judge(const BackendReport& report, const Registry& registry, const Plan& plan,
                     const AttentionCall& call) {
  BackendVerdict verdict;
  verdict.backend = report.name;
  verdict.label = report.label;
  verdict.state = report.state;
  verdict.state_reason = report.reason;
  verdict.terminal = report.terminal;
  const PlanEntry* entry = entry_of(plan, report.name);
  // A terminal takes whatever reaches it: its constraints are not asked.
  if (!report.terminal) {
    verdict.checks =
        explain(entry != nullptr ? entry->gate.constraints() : registry.by_name(report.name)->constraints, call);
  }
  verdict.reason = first_failure(verdict.checks);
  verdict.accepts = verdict.reason.empty();
  if (verdict.reason.empty() && report.state != BackendState::ready) {
    verdict.reason = report.reason.empty() ? "not among the overrides" : report.reason;
  }
  if (report.state == BackendState::disabled && !report.reason.empty()) verdict.accepts = false;
  return verdict;
}

/// The entry whose kernel would answer: the router asks the next one when a kernel says that it cannot.
const PlanEntry& serving_entry(const Plan& plan, const AttentionCall& call) {
  const CallFacts facts(call);
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.gate.accepts(facts, call) && entry.kernel->route(call, nullptr).failure.empty()) return entry;
  }
  return plan.last();
}

std::string why(const Plan& plan, const PlanEntry& serving) {
  const std::string chain = "chain " + plan.chain();
  if (plan.entries().empty() && plan.terminal() == nullptr) {
    return "no override is active, so the original sdpa serves every call";
  }
  if (&serving == &plan.original()) return "every backend in " + chain + " declined, the original sdpa is last";
  if (&serving == plan.terminal()) return "every backend before it in " + chain + " declined, it takes what is left";
  return std::string(serving.name) == plan.requested() ? "first in " + chain + " and every check holds"
                                                       : "first in " + chain + " whose checks all hold";
}

std::string to_move(const BackendVerdict& verdict) {
  std::string text = verdict.backend + ": ";
  std::string needs;
  for (const Verdict& check : verdict.checks) {
    if (check.ok) continue;
    needs +=
        (needs.empty() ? "" : "; ") + std::string(check.check) + " " + check.required + " (is " + check.actual + ")";
  }
  switch (verdict.state) {
    case BackendState::disabled:
      if (!verdict.state_reason.empty()) return text + "choose another target, it is " + verdict.state_reason;
      text += "enable \"" + verdict.label + "\" in the overrides";
      if (!needs.empty()) text += ", and the call would need " + needs;
      return text;
    case BackendState::unavailable:
      return text + "choose another target, it is " + verdict.state_reason;
    case BackendState::failed:
      return text + "it failed to prepare: " + verdict.state_reason;
    case BackendState::skipped:
      return text + "it " + verdict.state_reason;
    case BackendState::ready:
      break;
  }
  if (needs.empty()) return text + "disable the backends that serve before it";
  return text + "the call would need " + needs;
}

void explain_stage(Explanation& out, const PlanEntry& serving, const AttentionCall& call,
                   const GenerationContext& context, SelectionStage* stage, const BlockSelection*& selection) {
  if (stage == nullptr) {
    out.stage.reason = "sparse attention is off";
    return;
  }
  if (!serving.capabilities.block_mask) {
    out.stage.reason = std::string(serving.name) + " takes no block mask";
    return;
  }
  const StageDecision decision = stage->decide(call, context, serving.capabilities, serving.kernel.get());
  selection = decision.selection;
  out.stage.consulted = true;
  out.stage.selects = selection != nullptr;
  out.stage.budget = decision.budget;
  out.stage.reason = decision.selection == nullptr && decision.reason.empty() ? "the selection covered everything"
                                                                              : std::string(decision.reason);
  if (selection != nullptr) out.stage.density = selection->density;
}

std::string bytes_text(std::int64_t bytes) {
  const double gib = static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
  const auto hundredths = static_cast<std::int64_t>(gib * 100.0 + 0.5);
  std::string text = std::to_string(hundredths / 100) + ".";
  text += static_cast<char>('0' + hundredths / 10 % 10);
  text += static_cast<char>('0' + hundredths % 10);
  return text + " GiB";
}

void warn(Explanation& out, const Plan& plan, const AttentionCall& call) {
  const auto& memory = plan.target().memory_bytes;
  const std::string bytes = std::to_string(out.memory_bytes);
  const bool said = std::any_of(out.warnings.begin(), out.warnings.end(), [&](const std::string& warning) {
    return warning.find(bytes) != std::string::npos && warning.find("more than") != std::string::npos;
  });
  if (memory && out.memory_bytes > *memory && !said) {
    out.warnings.push_back("needs " + std::to_string(out.memory_bytes) + " bytes (" + bytes_text(out.memory_bytes) +
                           ") beyond its tensors, over the " + bytes_text(*memory) + " of " + plan.target().label);
  }
  if (!call.is_causal || call.query_tokens() == call.key_tokens()) return;
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.gate.constraints().causal_top_left) continue;
    out.warnings.push_back("causal is aligned top left; " + std::string(entry.name) +
                           " aligns it bottom right and declines unequal lengths, so the chain mixes conventions");
  }
}

}  // namespace

Explanation explain_route(const Registry& registry, const Plan& plan, const AttentionCall& call,
                          const GenerationContext& context, SelectionStage* stage, Patience patience) {
  Explanation out;
  out.chain = plan.chain();
  out.target = plan.target().name;
  if (!plan.target().present && !plan.target().absence.empty()) {
    out.emulation = "emulated on this host: " + plan.target().absence;
  }
  out.requested = plan.requested();
  const PlanEntry& serving = serving_entry(plan, call);
  for (const BackendReport& report : plan.reports()) {
    BackendVerdict verdict = judge(report, registry, plan, call);
    verdict.serves = report.name == serving.name;
    out.entries.push_back(std::move(verdict));
  }
  BackendVerdict original;
  original.backend = plan.original().name;
  original.label = registry.original().label;
  original.state = plan.original().kernel ? BackendState::ready : BackendState::failed;
  original.accepts = true;
  original.serves = &serving == &plan.original();
  original.terminal = true;
  if (plan.terminal() != nullptr)
    original.reason = "the terminal " + std::string(plan.terminal()->name) + " stands before it";
  out.entries.push_back(std::move(original));

  const BlockSelection* selection = nullptr;
  explain_stage(out, serving, call, context, stage, selection);
  out.selected = serving.name;
  out.sparse = selection != nullptr;
  out.reason = why(plan, serving);
  if (serving.kernel) {
    if (patience == Patience::waits) serving.kernel->ask(call, selection);
    KernelForecast forecast = serving.kernel->forecast(call, selection);
    out.executed = forecast.would_run.backend;
    out.kernel = forecast.would_run.variant;
    out.memory_bytes = forecast.memory_bytes;
    out.kernel_choices = std::move(forecast.choices);
    out.warnings = std::move(forecast.warnings);
    if (!forecast.would_run.failure.empty()) out.warnings.emplace_back(forecast.would_run.failure);
    if (&serving == &plan.original()) out.entries.back().checks = out.kernel_choices;
  }
  warn(out, plan, call);
  for (const BackendVerdict& verdict : out.entries) {
    if (!verdict.serves && verdict.backend != plan.original().name) out.to_move.push_back(to_move(verdict));
  }
  return out;
}

}  // namespace attn
