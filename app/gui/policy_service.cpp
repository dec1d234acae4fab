// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/policy_service.h"

#include "core/policy/dispatcher.h"
#include "ui/format/format.h"

namespace attn::app {

namespace {

/// What each value would come to if it were asked for.
std::vector<ui::AskableBackend> askable(const AttentionChoices& wanted, std::optional<Role> role,
                                        const Target& target) {
  std::vector<ui::AskableBackend> backends;
  const auto add = [&](std::string_view name) {
    AttentionChoices choices = wanted;
    // The one that decides must be this one, whatever else is said.
    choices.required.reset();
    choices.per_role.clear();
    choices.dispatcher.clear();
    if (role) choices.per_role[*role] = name;
    if (!role) choices.all = std::string(name);
    const Selection selection = decide_attention(choices, role.value_or(Role::transformer), target).selection;
    backends.push_back({ui::text_of(name), selection.state, ui::text_of(selection.reason)});
  };
  add(kAutoRequest);
  for (const AttentionAlias& alias : attention_aliases()) add(alias.alias);
  return backends;
}

/// Why the backend of a decision cannot serve on this machine, beside what the policy itself says.
QString problem_of(const Engine& engine, const Plan& plan, const Selection& selection) {
  if (!selection.backend) return {};
  const auto barred = quarantined_on(engine.quarantine(), plan.target());
  if (const auto found = barred.find(*selection.backend); found != barred.end()) return ui::text_of(found->second);
  const PrepareContext context{plan.target(), plan.captured(), plan.original().kernel, {}};
  const auto direct = prepare_direct(engine.registry(), *selection.backend, context);
  return direct ? QString() : ui::text_of(direct.error());
}

}  // namespace

GuiPolicyService::GuiPolicyService(Engine& engine, QObject* parent)
    : ui::PolicyService(parent), engine_(engine), postbox_(this) {
  state_.wanted = engine_.attention();
  state_.applied = state_.wanted;
  subscription_ = engine_.subscribe([this](const EngineEvent& event) { take(event); });
  refresh();
}

GuiPolicyService::~GuiPolicyService() = default;

Expected<void> GuiPolicyService::choose(AttentionChoices choices) {
  if (auto set = engine_.set_attention(std::move(choices)); !set) return set;
  state_.wanted = engine_.attention();
  state_.applied = applied(state_.wanted);
  return {};
}

AttentionChoices GuiPolicyService::applied(const AttentionChoices& wanted) const {
  const std::lock_guard lock(mutex_);
  return of_job_.value_or(wanted);
}

void GuiPolicyService::take(const EngineEvent& event) {
  if (event.kind == EngineEvent::Kind::job_started || event.kind == EngineEvent::Kind::job_ended) {
    AttentionChoices begun = engine_.attention();
    const std::lock_guard lock(mutex_);
    of_job_.reset();
    if (event.kind == EngineEvent::Kind::job_started) of_job_ = std::move(begun);
  }
  if (event.kind != EngineEvent::Kind::pending_changed) refresh();
}

void GuiPolicyService::refresh() {
  const std::uint64_t number = ++newest_;
  worker_.post([this, number, address = postbox_.address()] {
    if (number != newest_) return;  // a newer change is on its way
    ui::PolicyState state;
    const std::shared_ptr<const Plan> plan = engine_.plan();
    const Target& target = plan->target();
    state.wanted = engine_.attention();
    state.applied = applied(state.wanted);
    state.job_running = engine_.job_running();
    state.target = ui::text_of(target.label.empty() ? target.name : target.label);
    state.for_all = askable(state.wanted, std::nullopt, target);
    for (const Role role : kChoiceRoles) {
      state.for_role[role] = askable(state.wanted, role, target);
      AttentionDecision decision = decide_attention(state.wanted, role, target);
      const QString problem = problem_of(engine_, *plan, decision.selection);
      state.outcomes.push_back({std::move(decision), problem});
    }
    address.post([this, number, made = std::move(state)]() mutable {
      if (number != newest_) return;
      state_ = std::move(made);
      emit changed();
    });
  });
}

}  // namespace attn::app
