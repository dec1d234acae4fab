// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/engine.h"

#include "core/engine/engine_state.h"

#include <algorithm>

namespace attn {
namespace {

constexpr std::string_view kTargetKey = "target";

}  // namespace

Pipe switch_pipe(const Pipe& from, PipelineInfo to) { return {std::move(to), from.stamps, from.attention}; }

// --- state: the caller holds the mutex -------------------------------------------------------------------------

std::shared_ptr<const Plan> Engine::State::build_plan(const Registry& registry) const {
  PlanRequest request;
  request.labels = settings.values().list(keys::overrides);
  request.target = target;
  request.options = settings.values();
  request.live = [this](std::string_view key) { return settings.live(key); };
  request.barred = quarantined_on(quarantine, target);
  return Plan::build(registry, std::move(request));
}

std::vector<PendingChange> Engine::State::pending() const {
  std::vector<PendingChange> changes;
  if (!plan) return changes;
  if (plan->target().name != target.name) {
    changes.push_back({std::string(kTargetKey), plan->target().name, target.name});
  }
  for (const OptionSpec& spec : settings.specs()) {
    if (spec.applies != Applies::rebuild) continue;
    const OptionValue* applied = plan->captured().find(spec.key);
    const OptionValue* wanted = settings.values().find(spec.key);
    if (applied != nullptr && !same_value(*applied, *wanted)) changes.push_back({spec.key, *applied, *wanted});
  }
  return changes;
}

void Engine::State::apply(const Registry& registry, std::vector<EngineEvent>& events) {
  const std::string old_chain = plan ? plan->chain() : std::string();
  plan = build_plan(registry);
  ++rebuilds;
  ++chain_id;
  rebuild_asked = false;
  for (const LogLine& line : plan->log()) log(line.level, line.text);
  stage = build_stage(registry, sink);
  explain_stage = build_stage(registry, {});
  log(LogLevel::debug, plan->chain_line(stage != nullptr));
  EngineEvent event{.kind = EngineEvent::Kind::chain_rebuilt};
  event.old_chain = old_chain;
  event.new_chain = plan->chain();
  event.chain_id = chain_id;
  events.push_back(std::move(event));
}

void Engine::State::changed(const Registry& registry, std::vector<EngineEvent>& events) {
  if (!job_running) apply(registry, events);
  EngineEvent event{.kind = EngineEvent::Kind::pending_changed};
  event.chain_id = chain_id;
  events.push_back(std::move(event));
}

void Engine::State::log(LogLevel level, std::string text) const {
  if (sink) sink({level, std::move(text)});
}

std::unique_ptr<SelectionStage> Engine::State::build_stage(const Registry& registry, const LogSink& log_to) const {
  std::vector<std::string_view> capable;
  for (const PlanEntry& entry : plan->entries()) {
    if (entry.capabilities.block_mask) capable.push_back(entry.name);
  }
  std::vector<std::string> compatible;
  for (const BackendSpec& spec : registry.ascending()) {
    if (spec.capabilities.block_mask) compatible.push_back(spec.label);
  }
  std::unique_ptr<SparseStage> built = make_stage(plan->captured(), capable, compatible, log_to);
  if (built && parallel_for) built->set_parallel_for(parallel_for);
  return built;
}

// --- engine ----------------------------------------------------------------------------------------------------

Engine::Engine(Registry registry, Target target, LogSink sink, ParallelFor parallel_for)
    : registry_(std::move(registry)),
      state_(std::make_unique<State>(Settings(option_specs(registry_, target)), target, std::move(sink))) {
  state_->parallel_for = std::move(parallel_for);
  std::vector<EngineEvent> events;
  state_->apply(registry_, events);
}

Engine::~Engine() = default;

void Engine::publish(const std::vector<EngineEvent>& events) {
  std::vector<std::shared_ptr<EngineListener>> listeners;
  {
    const std::lock_guard lock(state_->listener_mutex);
    auto& all = state_->listeners;
    std::erase_if(all, [](const auto& listener) { return listener.expired(); });
    for (const auto& listener : all) {
      if (auto alive = listener.lock()) listeners.push_back(std::move(alive));
    }
  }
  for (const EngineEvent& event : events) {
    for (const auto& listener : listeners) (*listener)(event);
  }
}

std::shared_ptr<void> Engine::subscribe(EngineListener listener) {
  auto token = std::make_shared<EngineListener>(std::move(listener));
  const std::lock_guard lock(state_->listener_mutex);
  state_->listeners.push_back(token);
  return token;
}

std::vector<OptionSpec> Engine::specs() const {
  const std::lock_guard lock(state_->mutex);
  return state_->settings.specs();
}

OptionValues Engine::values() const {
  const std::lock_guard lock(state_->mutex);
  return state_->settings.values();
}

Expected<bool> Engine::set(std::string_view key, OptionValue value) {
  return set_all({{std::string(key), std::move(value)}});
}

Expected<bool> Engine::set_all(const std::vector<std::pair<std::string, OptionValue>>& changes) {
  std::vector<EngineEvent> events;
  bool any = false;
  {
    const std::lock_guard lock(state_->mutex);
    const Settings before = state_->settings;
    bool rebuilds_chain = false;
    for (const auto& [key, value] : changes) {
      Expected<bool> changed = state_->settings.set(key, value);
      if (!changed) {
        state_->settings.restore(before);
        return changed;
      }
      if (!*changed) continue;
      any = true;
      rebuilds_chain |= state_->settings.spec(key)->applies == Applies::rebuild;
      EngineEvent event{.kind = EngineEvent::Kind::setting_changed};
      event.key = key;
      event.chain_id = state_->chain_id;
      events.push_back(std::move(event));
    }
    if (rebuilds_chain) state_->changed(registry_, events);
  }
  publish(events);
  return any;
}

void Engine::set_target(Target target) {
  std::vector<EngineEvent> events;
  {
    const std::lock_guard lock(state_->mutex);
    state_->settings.adopt(option_specs(registry_, target));
    state_->target = std::move(target);
    EngineEvent event{.kind = EngineEvent::Kind::target_changed};
    event.key = state_->target.name;
    events.push_back(std::move(event));
    state_->changed(registry_, events);
  }
  publish(events);
}

Target Engine::target() const {
  const std::lock_guard lock(state_->mutex);
  return state_->target;
}

std::shared_ptr<const Plan> Engine::plan() const {
  const std::lock_guard lock(state_->mutex);
  return state_->plan;
}

std::uint64_t Engine::chain_id() const {
  const std::lock_guard lock(state_->mutex);
  return state_->chain_id;
}

std::shared_ptr<const Plan> Engine::wanted_plan() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->pending().empty()) return state_->plan;
  return state_->build_plan(registry_);
}

bool Engine::is_pending() const {
  const std::lock_guard lock(state_->mutex);
  return state_->rebuild_waits();
}

std::vector<PendingChange> Engine::pending() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pending();
}

void Engine::revert_pending() {
  std::vector<EngineEvent> events;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->target.name != state_->plan->target().name) {
      state_->target = state_->plan->target();
      state_->settings.adopt(option_specs(registry_, state_->target));
      EngineEvent event{.kind = EngineEvent::Kind::target_changed};
      event.key = state_->target.name;
      events.push_back(std::move(event));
    }
    for (const PendingChange& change : state_->pending()) {
      // The value was valid when the chain was built with it, on the target that is in force again.
      (void)state_->settings.set(change.key, change.applied);
      EngineEvent event{.kind = EngineEvent::Kind::setting_changed};
      event.key = change.key;
      events.push_back(std::move(event));
    }
    state_->rebuild_asked = false;
    events.push_back({.kind = EngineEvent::Kind::pending_changed});
  }
  publish(events);
}

void Engine::rebuild() {
  std::vector<EngineEvent> events;
  {
    const std::lock_guard lock(state_->mutex);
    state_->rebuild_asked = true;
    state_->changed(registry_, events);
  }
  publish(events);
}

std::uint64_t Engine::rebuilds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->rebuilds;
}

bool Engine::job_running() const {
  const std::lock_guard lock(state_->mutex);
  return state_->job_running;
}

bool Engine::generate_time_gate(Pipe& pipe) {
  std::vector<EngineEvent> events;
  {
    const std::lock_guard lock(state_->mutex);
    const std::string name = state_->settings.values().text(keys::method);
    const OptionList overrides = state_->settings.values().list(keys::overrides);
    PipeStamps& stamps = pipe.stamps;
    const bool same = stamps.current_attn_name == name && stamps.current_attn_overrides &&
                      same_value(*stamps.current_attn_overrides, overrides);
    if (same) return false;
    if (!state_->job_running && !state_->pending().empty()) state_->apply(registry_, events);
    stamps.current_attn_name = name;
    stamps.current_attn_overrides = overrides;
  }
  publish(events);
  return true;
}

Expected<JobScope> Engine::begin_job(Pipe& pipe, std::int64_t steps, RouteObserver* observer, bool timing) {
  generate_time_gate(pipe);
  std::unique_ptr<JobScope::Run> run;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->job_running) return fail("a job is running already; stop it or wait for its end");
    Expected<Dispatcher> dispatcher = state_->dispatch(registry_, pipe);
    if (!dispatcher) return fail(dispatcher.error());
    run = std::make_unique<JobScope::Run>(state_->plan, observer, state_->stage.get(), timing, state_->chain_id);
    run->dispatcher = *std::move(dispatcher);
    run->context.begin(pipe.info, steps);
    state_->job_running = true;
    state_->last_pipe = pipe.info;
    state_->last_steps = steps;
    state_->last_layout.reset();
  }
  publish({{.kind = EngineEvent::Kind::job_started}});
  return JobScope(*this, std::move(run));
}

void Engine::end_job(JobScope::Run& run) noexcept {
  std::vector<EngineEvent> events;
  {
    const std::lock_guard lock(state_->mutex);
    state_->last_layout = run.context.layout();
    run.context.end();
    state_->job_running = false;
    if (state_->rebuild_waits()) {
      state_->apply(registry_, events);
      events.push_back({.kind = EngineEvent::Kind::pending_changed});
    }
    events.push_back({.kind = EngineEvent::Kind::job_ended});
  }
  publish(events);
}

Explanation Engine::explain(const AttentionCall& call, Role role, std::int32_t step, Patience patience) const {
  const std::lock_guard lock(state_->mutex);
  GenerationContext context;
  context.begin(state_->last_pipe, state_->last_steps);
  context.set_layout(state_->last_layout);
  context.set_step(step);
  context.set_role(role);
  Explanation explanation =
      explain_route(registry_, *state_->plan, call, context, state_->explain_stage.get(), patience);
  const AttentionDecision decision = decide_attention(state_->attention_choices(), role, state_->plan->target());
  const auto direct = state_->direct_route(registry_, state_->last_pipe.value_or(PipelineInfo{}), decision);
  explain_dispatch(explanation, decision, direct && *direct ? &**direct : nullptr, direct ? "" : direct.error(), call);
  return explanation;
}

EngineReport Engine::report() const {
  const std::lock_guard lock(state_->mutex);
  EngineReport report;
  report.chain = state_->plan->chain();
  report.overrides = state_->plan->labels();
  report.target = state_->plan->target();
  const OptionValues& captured = state_->plan->captured();
  const std::string prefix(keys::sparse_prefix);
  report.sparse.enabled = captured.boolean(prefix + "enabled");
  report.sparse.budget = captured.real(prefix + "budget") / 100.0;
  report.sparse.gate = captured.integer(prefix + "min_tokens");
  for (const PlanEntry& entry : state_->plan->entries()) {
    if (entry.capabilities.block_mask) report.sparse.capable.emplace_back(entry.name);
  }
  report.sparse.layout = state_->last_layout;
  report.context.active = state_->job_running;
  if (state_->job_running && state_->last_pipe) {
    report.context.model =
        ModelKey{state_->last_pipe->pipeline_class,
                 state_->last_pipe->transformer ? state_->last_pipe->transformer : state_->last_pipe->unet,
                 state_->last_pipe->architecture};
    report.context.steps = static_cast<std::int32_t>(state_->last_steps);
  }
  report.chain_id = state_->chain_id;
  report.pending = state_->pending();
  report.backends = state_->plan->reports();
  return report;
}

}  // namespace attn
