// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/variant_plan.h"

#include "app/jobs/nearest.h"

#include <algorithm>
#include <array>

namespace attn::app {
namespace {

/// The one backend that a variant is about; null for those that are about none or several.
const BackendSpec* subject_of(const LeverVariant& variant, const Registry& registry) {
  for (const auto& [key, value] : variant.settings) {
    const auto* labels = key == keys::overrides ? std::get_if<OptionList>(&value) : nullptr;
    if (labels != nullptr && labels->size() == 1) return registry.by_label(labels->front());
  }
  return nullptr;
}

std::array<std::int32_t, 3> looked_at(std::int64_t steps) {
  const auto last = static_cast<std::int32_t>(std::max<std::int64_t>(steps - 1, 0));
  return {0, last / 2, last};
}

std::string text_of(const SettingList& settings, bool (*wanted)(std::string_view)) {
  std::string text;
  for (const auto& [key, value] : settings) {
    if (wanted(key)) text += ";" + key + "=" + value_text(value);
  }
  return text;
}

bool is_sparse_key(std::string_view key) { return key.starts_with(keys::sparse_prefix); }
bool is_own_option(std::string_view key) {
  return key != keys::overrides && key != keys::kernels && !is_sparse_key(key);
}

/// Why a backend declines every call: "te takes no attn_mask; vae head_dim 512 is over 128". Empty where it takes one.
std::string refusals(const LeverJob& job, const Engine& engine, const std::string& backend) {
  std::vector<std::string> clauses;
  for (const LeverCall& call : job.calls(engine.target())) {
    const Explanation explanation = engine.explain(call.call, call.role, 0);
    for (const BackendVerdict& entry : explanation.entries) {
      if (entry.backend != backend) continue;
      if (entry.accepts) return {};
      const std::string clause = std::string(name_of(call.role)) + " " + entry.reason;
      if (std::find(clauses.begin(), clauses.end(), clause) == clauses.end()) clauses.push_back(clause);
    }
  }
  return clauses.empty() ? std::string() : backend + " declines every call (" + joined(clauses, "; ") + ")";
}

/// Why the sparse stage leaves every call dense: "te is not the denoiser, transformer has an attn_mask".
std::string why_dense(const LeverJob& job, const Engine& engine) {
  std::vector<std::string> clauses;
  for (const LeverCall& call : job.calls(engine.target())) {
    const Explanation explanation = engine.explain(call.call, call.role, looked_at(job.steps())[1]);
    if (!explanation.stage.consulted || explanation.stage.reason.empty()) continue;
    const std::string clause = std::string(name_of(call.role)) + ": " + explanation.stage.reason;
    if (std::find(clauses.begin(), clauses.end(), clause) == clauses.end()) clauses.push_back(clause);
  }
  return clauses.empty() ? std::string() : "the sparse stage leaves every call dense (" + joined(clauses, "; ") + ")";
}

std::string why_unchanged(const LeverJob& job, const Engine& engine, const LeverVariant& variant) {
  if (variant.group == LeverGroup::kernels) return "the same kernel serves every call";
  const BackendSpec* subject = subject_of(variant, engine.registry());
  std::string why = subject == nullptr ? std::string() : refusals(job, engine, subject->name);
  if (why.empty() && variant.group == LeverGroup::sparse) why = why_dense(job, engine);
  return why;
}

/// Routes every call at the steps that are looked at. Error: a call that nobody would serve.
Expected<std::string> routes_of(const LeverJob& job, JobScope& scope, const LeverVariant& variant,
                                const BackendSpec* subject) {
  std::string text;
  bool sparse = false;
  bool serves = subject == nullptr;
  std::size_t index = 0;
  for (const LeverCall& call : job.calls(scope.plan().target())) {
    const RoleScope role(scope.context(), call.role);
    for (const std::int32_t step : looked_at(job.steps())) {
      scope.context().set_step(step);
      const Route route = scope.attention(call.call);
      if (!route.failure.empty()) {
        return fail(std::string(name_of(call.role)) + " q" + shape_text(call.call.query.sizes()) + " k" +
                    shape_text(call.call.key.sizes()) + " could not be served: " + std::string(route.failure));
      }
      sparse = sparse || route.sparse;
      serves = serves || route.selected == subject->name;
      text += std::to_string(index) + ":" + std::string(route.executed) + "/" + std::string(route.variant) +
              (route.sparse ? "+" : "") + ",";
    }
    ++index;
  }
  if (sparse) text += text_of(variant.settings, is_sparse_key);
  if (serves) text += text_of(variant.settings, is_own_option);
  return text + (variant.compiled ? ";compiled" : "");
}

}  // namespace

VariantPlan plan_variant(const LeverJob& job, Engine& engine, const LeverVariant& variant) {
  VariantPlan plan;
  plan.chain = engine.plan()->chain();
  const BackendSpec* subject = subject_of(variant, engine.registry());
  for (const BackendReport& report : engine.plan()->reports()) {
    if (report.state == BackendState::ready || report.state == BackendState::disabled) continue;
    const std::string why = report.reason.empty() ? std::string(name_of(report.state)) : report.reason;
    if (subject != nullptr && subject->name == report.name) {
      plan.problem = report.name + ": " + why;
      plan.unavailable = true;
      return plan;
    }
    plan.notes.push_back("without " + report.name + ": " + why);
  }
  Pipe pipe{job.pipeline(), {}, {}};
  {
    auto scope = engine.begin_job(pipe, job.steps(), nullptr, false);
    plan.unavailable = !scope;
    auto routes = scope ? routes_of(job, *scope, variant, subject) : Expected<std::string>(fail(scope.error()));
    if (routes) plan.signature = *std::move(routes);
    if (!routes) plan.problem = routes.error().substr(0, routes.error().rfind("; nothing ran"));
  }
  if (plan.problem.empty()) plan.why_unchanged = why_unchanged(job, engine, variant);
  return plan;
}

}  // namespace attn::app
