// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/engine_state.h"

#include "core/router/compiled_forward.h"

namespace attn {

JobScope::JobScope(Engine& engine, std::unique_ptr<Run> run) noexcept : engine_(&engine), run_(std::move(run)) {}

JobScope::JobScope(JobScope&& other) noexcept = default;

JobScope::~JobScope() {
  if (run_) engine_->end_job(*run_);
}

GenerationContext& JobScope::context() noexcept { return run_->context; }

Route JobScope::attention(const AttentionCall& call) {
  if (run_->bypassed) return run_->router.original(call);
  if (run_->dispatcher.empty()) return run_->router(call);
  return run_->dispatcher(run_->router, call, run_->context.role(), nullptr);
}

Route JobScope::attention(const AttentionCall& call, FrozenRoute& site) {
  if (run_->bypassed) return run_->router.original(call);
  if (run_->dispatcher.empty()) return run_->router(call, site);
  return run_->dispatcher(run_->router, call, run_->context.role(), &site);
}

bool JobScope::compute_as_one(std::span<const AttentionCall> calls, CompiledForward& forward) {
  if (run_->bypassed || !run_->dispatcher.empty()) return false;
  const std::int64_t recorded = forward.recordings();
  const bool done = run_->router.compute_as_one(calls, forward);
  if (forward.recordings() > recorded) {
    engine_->state_->log(LogLevel::debug, "Attention: compiled step recorded role=" + role_text() +
                                              " step=" + std::to_string(run_->context.step()) +
                                              " calls=" + std::to_string(calls.size()));
  }
  if (!done) say_why_not(forward);
  return done;
}

bool JobScope::records(std::span<const AttentionCall> calls, CompiledForward& forward) {
  if (run_->bypassed || !run_->dispatcher.empty()) return false;
  const bool would = run_->router.records(calls, forward);
  if (!would) say_why_not(forward);
  return would;
}

void JobScope::say_why_not(const CompiledForward& forward) {
  std::string text = "Attention: compiled step call by call role=" + role_text() + ", " + forward.refusal();
  if (run_->said_of_compiled.insert(text).second) engine_->state_->log(LogLevel::debug, std::move(text));
}

std::string JobScope::role_text() const { return std::string(name_of(run_->context.role())); }

const Plan& JobScope::plan() const noexcept { return run_->router.plan(); }

std::uint64_t JobScope::chain_id() const noexcept { return run_->chain_id; }

BypassScope::BypassScope(JobScope& job) noexcept : job_(job), previous_(job.run_->bypassed) {
  job_.run_->bypassed = true;
}

BypassScope::~BypassScope() { job_.run_->bypassed = previous_; }

}  // namespace attn
