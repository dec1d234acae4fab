// SPDX-License-Identifier: GPL-3.0-or-later
// The dispatcher in front of the router: what the engine does about `attention_backend`.
#include "core/engine/engine_state.h"
#include "core/policy/dispatcher_backend.h"

#include <algorithm>

namespace attn {
namespace {

constexpr std::string_view kDispatcherKey = "hf_attention";

/// Slots of a pipe that can be set. A pipe that says nothing about its denoiser has one transformer.
std::vector<std::string> settable(const PipelineInfo& pipe) {
  if (!pipe.denoisers.empty()) return pipe.denoisers;
  if (pipe.unet && !pipe.transformer) return {};
  return {std::string(dispatcher_slots().front())};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

std::string refused(const AttentionDecision& decision, const std::string& why) {
  return "attention_backend " + decision.selection.requested + " (" + std::string(name_of(decision.level)) +
         ") cannot serve the " + std::string(name_of(decision.role)) + ": " + why;
}

std::string known_backends() {
  std::string text;
  for (const DispatcherBackend& backend : dispatcher_backends()) {
    text += (text.empty() ? "'" : ", '") + std::string(backend.name) + "'";
  }
  return "[" + text + "]";
}

}  // namespace

AttentionChoices Engine::State::attention_choices() const {
  AttentionChoices choices = attention;
  choices.dispatcher = settings.values().text(kDispatcherKey);
  return choices;
}

Expected<std::optional<DirectRoute>> Engine::State::direct_route(const Registry& registry, const PipelineInfo& pipe,
                                                                 const AttentionDecision& decision) const {
  if (!decision.selection.backend) return std::nullopt;
  if (decision.role == Role::transformer && settable(pipe).empty()) {
    return fail("the denoiser of " + pipe.pipeline_class + " is a U-Net, which has no attention setter");
  }
  const auto barred = quarantined_on(quarantine, plan->target());
  if (const auto found = barred.find(*decision.selection.backend); found != barred.end()) return fail(found->second);
  const PrepareContext context{plan->target(), plan->captured(), plan->original().kernel,
                               [this](std::string_view key) { return settings.live(key); }};
  Expected<PlanEntry> entry = prepare_direct(registry, *decision.selection.backend, context);
  if (!entry) return fail(entry.error());
  return DirectRoute{*std::move(entry), decision.strict};
}

Expected<Dispatcher> Engine::State::dispatch(const Registry& registry, Pipe& pipe) {
  const AttentionChoices choices = attention_choices();
  Dispatcher dispatcher;
  std::optional<std::string> wanted;
  std::vector<std::string> errors;
  for (const Role role : kChoiceRoles) {
    const AttentionDecision decision = decide_attention(choices, role, plan->target());
    auto direct = direct_route(registry, pipe.info, decision);
    const bool rejected = !direct || decision.selection.state == SelectionState::rejected;
    if (rejected) {
      const std::string why = direct ? decision.selection.reason : direct.error();
      if (decision.strict) errors.push_back(refused(decision, why));
      if (!decision.strict) log(LogLevel::warning, "Attention dispatcher: " + refused(decision, why));
      continue;
    }
    if (!*direct) continue;
    if (role == Role::transformer) wanted = decision.selection.backend;
    dispatcher.set(role, **std::move(direct));
  }
  if (!errors.empty()) wanted.reset();

  const std::string previous = active_attention;
  DispatcherPort port;
  port.denoisers = settable(pipe.info);
  port.set = [this, &pipe](std::string_view slot, std::string_view backend) -> Expected<void> {
    pipe.attention[std::string(slot)] = std::string(backend);
    active_attention = backend;
    return {};
  };
  port.own = [&pipe](std::string_view slot) -> std::optional<std::string> {
    const auto found = pipe.attention.find(std::string(slot));
    return found == pipe.attention.end() ? std::nullopt : std::optional(found->second);
  };
  port.active = [this] { return active_attention; };
  port.activate = [this](std::string_view backend) { active_attention = backend; };
  const Applied applied = apply_attention(wanted, port);
  if (!errors.empty()) return fail(joined(errors) + "; nothing ran");
  for (const std::string& slot : applied.denoisers) {
    log(LogLevel::debug, "Attention dispatcher: target=" + slot + " previous=" + previous +
                             " active=" + *applied.engaged + " list=" + known_backends());
  }
  return dispatcher;
}

Expected<void> Engine::set_attention(AttentionChoices choices) {
  if (auto known = check_choices(choices); !known) return known;
  {
    const std::lock_guard lock(state_->mutex);
    choices.dispatcher.clear();
    if (state_->attention == choices) return {};
    state_->attention = std::move(choices);
  }
  publish({{.kind = EngineEvent::Kind::attention_changed}});
  return {};
}

void Engine::set_quarantine(Quarantine quarantine) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->quarantine == quarantine) return;
    state_->quarantine = std::move(quarantine);
  }
  rebuild();
}

Quarantine Engine::quarantine() const {
  const std::lock_guard lock(state_->mutex);
  return state_->quarantine;
}

AttentionChoices Engine::attention() const {
  const std::lock_guard lock(state_->mutex);
  return state_->attention_choices();
}

std::vector<AttentionDecision> Engine::attention_decisions() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<AttentionDecision> decisions;
  for (const Role role : kChoiceRoles) {
    decisions.push_back(decide_attention(state_->attention_choices(), role, state_->plan->target()));
  }
  return decisions;
}

}  // namespace attn
