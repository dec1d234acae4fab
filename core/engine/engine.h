// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/context/generation_context.h"
#include "core/policy/precedence.h"
#include "core/policy/quarantine.h"
#include "core/router/explanation.h"
#include "core/router/router.h"
#include "core/settings/settings.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// What a pipeline object remembers of the attention that was applied to it. Switching to another task's
/// pipeline carries the stamps along, so that a switch alone does not apply anything again.
struct PipeStamps {
  std::optional<std::string> current_attn_name;
  std::optional<OptionList> current_attn_overrides;
};

/// A pipeline as the engine sees it.
struct Pipe {
  PipelineInfo info;
  PipeStamps stamps;
  std::map<std::string, std::string> attention{};  ///< by slot: the attention backend of the denoiser's own processors
};

/// The pipeline for another task (text to image -> image to image): new classes, the old one's stamps.
[[nodiscard]] Pipe switch_pipe(const Pipe& from, PipelineInfo to);

/// Something that changed.
struct EngineEvent {
  enum class Kind : std::uint8_t {
    setting_changed,  ///< a value was stored; `key` says which
    pending_changed,  ///< what waits for a rebuild changed
    chain_rebuilt,    ///< a new plan is in force
    target_changed,
    attention_changed,  ///< another attention backend is asked for
    job_started,
    job_ended,
  };
  Kind kind = Kind::setting_changed;
  std::string key{};
  std::string old_chain{};
  std::string new_chain{};
  std::uint64_t chain_id = 0;  ///< counts rebuilds; a compiled job built with another id is stale
};
/// Called on the thread that caused the event, without the engine's lock held. Must not throw.
using EngineListener = std::function<void(const EngineEvent&)>;

/// One option that differs between the settings and the chain in force.
struct PendingChange {
  std::string key;
  OptionValue applied;
  OptionValue wanted;
};

/// What the engine is, for the API and for `attnctl report`.
struct EngineReport {
  std::string chain;
  std::vector<std::string> overrides;
  Target target;
  struct Sparse {
    bool enabled = false;
    double budget = 0.0;
    std::int64_t gate = 0;
    std::vector<std::string> capable;
    std::optional<TokenLayout> layout;
  } sparse;
  struct Context {
    bool active = false;
    Role role = Role::none;
    std::int32_t step = 0;
    std::int32_t steps = 0;
    std::optional<ModelKey> model;
  } context;
  std::uint64_t chain_id = 0;
  std::vector<PendingChange> pending;
  std::vector<BackendReport> backends;
};

class Engine;

/// A running generation. Closing it (also by a throw) ends the context, restores the role, lets a pending rebuild
/// happen and leaves engine and gate usable. Must not outlive its engine.
class JobScope {
 public:
  JobScope(JobScope&& other) noexcept;
  JobScope& operator=(JobScope&&) = delete;
  ~JobScope();

  [[nodiscard]] GenerationContext& context() noexcept;
  /// The attention function in force: the router, or the original while bypassed.
  Route attention(const AttentionCall& call);
  /// The same for a call site of a compiled job; a bypass leaves `site` as it is.
  Route attention(const AttentionCall& call, FrozenRoute& site);
  /// The calls of one forward of a compiled job as one piece of work; see Router::compute_as_one(). False also where a
  /// dispatcher stands before the router, whatever the role, and while the router is bypassed. What is recorded, and
  /// why not, is logged once.
  [[nodiscard]] bool compute_as_one(std::span<const AttentionCall> calls, CompiledForward& forward);
  /// Whether it would be tried; the calls need no data.
  [[nodiscard]] bool records(std::span<const AttentionCall> calls, CompiledForward& forward);
  [[nodiscard]] const Plan& plan() const noexcept;
  [[nodiscard]] std::uint64_t chain_id() const noexcept;

 private:
  friend class Engine;
  friend class BypassScope;
  void say_why_not(const CompiledForward& forward);
  [[nodiscard]] std::string role_text() const;
  struct Run;
  JobScope(Engine& engine, std::unique_ptr<Run> run) noexcept;
  Engine* engine_;
  std::unique_ptr<Run> run_;
};

/// The one owner of settings, registry, plan and context, and of the rebuild flow: a change while idle rebuilds
/// at once; changes while a job runs wait and are applied in one rebuild when it ends.
///
/// Thread safe: settings and reports may be used from any thread. router() and context() belong to the thread
/// that holds the JobScope.
class Engine {
 public:
  /// `sink` receives the log lines of the systems mirrored; `parallel_for` the selection's loops. Both may be empty.
  Engine(Registry registry, Target target, LogSink sink = {}, ParallelFor parallel_for = {});
  ~Engine();

  [[nodiscard]] const Registry& registry() const noexcept { return registry_; }

  // --- settings -------------------------------------------------------------------------------------------
  [[nodiscard]] std::vector<OptionSpec> specs() const;
  [[nodiscard]] OptionValues values() const;
  /// True: changed. A rebuilding option then rebuilds (idle) or waits (job running).
  [[nodiscard]] Expected<bool> set(std::string_view key, OptionValue value);
  /// All or nothing, and one rebuild for all of them.
  [[nodiscard]] Expected<bool> set_all(const std::vector<std::pair<std::string, OptionValue>>& changes);
  /// A new target: values that stand at the old platform's default move to the new one's. Waits like a setting.
  void set_target(Target target);
  [[nodiscard]] Target target() const;  ///< as wanted; plan()->target() is the one in force

  // --- the chain ------------------------------------------------------------------------------------------
  [[nodiscard]] std::shared_ptr<const Plan> plan() const;
  [[nodiscard]] std::uint64_t chain_id() const;
  /// The plan that the present settings would give. Builds it without putting it in force.
  [[nodiscard]] std::shared_ptr<const Plan> wanted_plan() const;
  [[nodiscard]] bool is_pending() const;
  [[nodiscard]] std::vector<PendingChange> pending() const;
  /// Puts the pending settings back to what the chain in force was built with.
  void revert_pending();
  /// Rebuilds now, or at the end of the running job. A second call while one waits does nothing more.
  void rebuild();
  [[nodiscard]] std::uint64_t rebuilds() const;

  // --- generations ----------------------------------------------------------------------------------------
  /// The generate-time gate: applies the settings when the pipe's stamps differ from them, and stamps it.
  /// True when it had to apply. Called at the start of the base pass only.
  bool generate_time_gate(Pipe& pipe);
  /// Opens a job: no rebuild happens until the scope is gone. One at a time; a second one waits for nothing and
  /// is refused. Gives the pipe's denoisers the attention backend that is asked for, before anything is compiled; one
  /// that they cannot have is an error where the role is strict.
  [[nodiscard]] Expected<JobScope> begin_job(Pipe& pipe, std::int64_t steps, RouteObserver* observer, bool timing);
  [[nodiscard]] bool job_running() const;

  // --- the dispatcher in front of the router ----------------------------------------------------------------
  /// What is asked of `attention_backend`; counts from the next job on, as a model has to load for it. Error: a name
  /// that is neither an alias nor a dispatcher's. `choices.dispatcher` is ignored: it is the setting `hf_attention`.
  [[nodiscard]] Expected<void> set_attention(AttentionChoices choices);
  /// Backends that gave wrong numbers, with the architecture that they did it on; rebuilds the chain like a setting.
  void set_quarantine(Quarantine quarantine);
  [[nodiscard]] Quarantine quarantine() const;
  /// With `hf_attention` as it stands.
  [[nodiscard]] AttentionChoices attention() const;
  /// Decided for the target in force, for text encoder, denoiser and VAE.
  [[nodiscard]] std::vector<AttentionDecision> attention_decisions() const;

  // --- looking --------------------------------------------------------------------------------------------
  /// With patience a library may be asked; whoever else uses the engine waits for it too.
  [[nodiscard]] Explanation explain(const AttentionCall& call, Role role, std::int32_t step,
                                    Patience patience = Patience::none) const;
  [[nodiscard]] EngineReport report() const;

  /// Keeps `listener` until the returned token is destroyed.
  [[nodiscard]] std::shared_ptr<void> subscribe(EngineListener listener);

 private:
  friend class JobScope;
  struct State;
  void publish(const std::vector<EngineEvent>& events);
  void end_job(JobScope::Run& run) noexcept;
  Registry registry_;
  std::unique_ptr<State> state_;
};

/// Puts the original sdpa over the router and afterwards restores whatever was in force, also when the body throws.
/// Kernel flags are not changed by it. Nests.
class BypassScope {
 public:
  explicit BypassScope(JobScope& job) noexcept;
  ~BypassScope();
  BypassScope(const BypassScope&) = delete;
  BypassScope& operator=(const BypassScope&) = delete;

 private:
  JobScope& job_;
  bool previous_;
};

}  // namespace attn
