// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/engine_state.h"

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

const Plan& JobScope::plan() const noexcept { return run_->router.plan(); }

std::uint64_t JobScope::chain_id() const noexcept { return run_->chain_id; }

BypassScope::BypassScope(JobScope& job) noexcept : job_(job), previous_(job.run_->bypassed) {
  job_.run_->bypassed = true;
}

BypassScope::~BypassScope() { job_.run_->bypassed = previous_; }

}  // namespace attn
