// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/policy/apply.h"
#include "core/policy/dispatcher.h"

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attn {

/// What the engine owns. Members are used with `mutex` held, except the listeners, which have their own so that a
/// listener may ask the engine.
struct Engine::State {
  State(Settings all, Target wanted, LogSink log_sink)
      : settings(std::move(all)), target(std::move(wanted)), sink(std::move(log_sink)) {}

  [[nodiscard]] std::shared_ptr<const Plan> build_plan(const Registry& registry) const;
  [[nodiscard]] std::unique_ptr<SelectionStage> build_stage(const Registry& registry, const LogSink& log_to) const;
  [[nodiscard]] std::vector<PendingChange> pending() const;
  /// Puts the settings in force: builds plan and stage, logs, counts.
  void apply(const Registry& registry, std::vector<EngineEvent>& events);
  /// A change that rebuilds: at once, or left pending for the end of the job.
  void changed(const Registry& registry, std::vector<EngineEvent>& events);
  /// Undoing an edit before the job ends leaves nothing to rebuild.
  [[nodiscard]] bool rebuild_waits() const { return rebuild_asked || !pending().empty(); }
  void log(LogLevel level, std::string text) const;

  [[nodiscard]] AttentionChoices attention_choices() const;
  /// The direct route that a decision comes to; nullopt for native. Error: why there is none.
  [[nodiscard]] Expected<std::optional<DirectRoute>> direct_route(const Registry& registry, const PipelineInfo& pipe,
                                                                  const AttentionDecision& decision) const;
  /// Applies what is asked for to a pipe. Error: a strict role that cannot have it; native is in force then.
  [[nodiscard]] Expected<Dispatcher> dispatch(const Registry& registry, Pipe& pipe);

  mutable std::mutex mutex;
  Settings settings;
  Target target;  ///< as wanted
  LogSink sink;
  ParallelFor parallel_for;
  std::shared_ptr<const Plan> plan;               ///< in force
  std::unique_ptr<SelectionStage> stage;          ///< the running job's
  std::unique_ptr<SelectionStage> explain_stage;  ///< asked by explain(), says nothing to the log
  std::uint64_t chain_id = 0;
  std::uint64_t rebuilds = 0;
  AttentionChoices attention;
  Quarantine quarantine;
  std::string active_attention{kNativeBackend};  ///< the process-wide backend of the dispatcher
  bool job_running = false;
  bool rebuild_asked = false;
  std::optional<PipelineInfo> last_pipe;
  std::optional<TokenLayout> last_layout;
  std::int64_t last_steps = 0;

  std::mutex listener_mutex;
  std::vector<std::weak_ptr<EngineListener>> listeners;
};

/// What belongs to one job: its plan, its router and its context.
struct JobScope::Run {
  Run(std::shared_ptr<const Plan> in_force, RouteObserver* observer, SelectionStage* stage, bool timing,
      std::uint64_t id)
      : router(std::move(in_force), &context, observer, stage, timing), chain_id(id) {}

  GenerationContext context;
  Router router;
  Dispatcher dispatcher;
  std::uint64_t chain_id;
  bool bypassed = false;
  std::set<std::string> said_of_compiled{};  ///< why forwards were not recorded, each once
};

}  // namespace attn
