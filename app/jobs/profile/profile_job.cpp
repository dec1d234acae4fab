// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/profile_job.h"

#include "app/jobs/tensors/generated.h"
#include "core/router/compiled_forward.h"
#include "core/sparse/schedule.h"
#include "core/sparse/sparse_stage.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Sends progress at most about 30 times a second, and judges the time left by the arithmetic that is done.
class ProgressMeter {
 public:
  ProgressMeter(const JobEnvironment& environment, std::int64_t calls, double flops)
      : environment_(environment), flops_total_(flops) {
    progress_.calls_total = calls;
  }

  void done(double flops, Role role, std::int32_t step, std::int32_t steps, bool last) {
    ++progress_.calls_done;
    flops_done_ += flops;
    if (!environment_.progress) return;
    // Planned calls take nanoseconds: most of them do not even look at the clock.
    if (!last && flops == 0.0 && progress_.calls_done % 256 != 0) return;
    const double elapsed = seconds_since(begin_);
    if (!last && elapsed - sent_ < 1.0 / 30.0) return;
    sent_ = elapsed;
    progress_.role = role;
    progress_.step = step;
    progress_.steps = steps;
    progress_.elapsed_seconds = elapsed;
    if (flops_done_ > 0.0) progress_.seconds_left = elapsed * std::max(flops_total_ / flops_done_ - 1.0, 0.0);
    environment_.progress(progress_);
  }

 private:
  const JobEnvironment& environment_;
  Clock::time_point begin_ = Clock::now();
  double sent_ = -1.0;
  double flops_total_;
  double flops_done_ = 0.0;
  JobProgress progress_;
};

/// The generated tensors of recently computed calls, within a share of the memory.
class TensorCache {
 public:
  explicit TensorCache(std::uint64_t seed) : seed_(seed) {}

  const AttentionCall& of(std::uint32_t index, const DistinctCall& distinct, const AttentionCall& placed) {
    const auto found = kept_.find(index);
    if (found != kept_.end()) return found->second.call;
    const std::int64_t bytes = tensor_bytes(placed);
    if (held_ + bytes > available_memory() / 4) clear();
    return add(index, distinct, placed);
  }

  /// The calls of a whole forward, all held at once; empty where they are too large for that.
  [[nodiscard]] std::vector<AttentionCall> of_all(const std::vector<std::uint32_t>& indices,
                                                  const std::vector<DistinctCall>& distinct,
                                                  const std::vector<AttentionCall>& placed) {
    const std::set<std::uint32_t> needed(indices.begin(), indices.end());
    std::int64_t bytes = 0;
    for (const std::uint32_t index : needed) bytes += kept_.contains(index) ? 0 : tensor_bytes(placed[index]);
    if (held_ + bytes > available_memory() / 4) {
      clear();
      bytes = 0;
      for (const std::uint32_t index : needed) bytes += tensor_bytes(placed[index]);
      if (bytes > available_memory() / 4) return {};
    }
    std::vector<AttentionCall> all;
    for (const std::uint32_t index : indices) {
      const auto found = kept_.find(index);
      all.push_back(found != kept_.end() ? found->second.call : add(index, distinct[index], placed[index]));
    }
    return all;
  }

  /// How often tensors were given up for others.
  [[nodiscard]] std::int64_t cleared() const noexcept { return cleared_; }

 private:
  void clear() {
    kept_.clear();
    held_ = 0;
    ++cleared_;
  }
  const AttentionCall& add(std::uint32_t index, const DistinctCall& distinct, const AttentionCall& placed) {
    held_ += tensor_bytes(placed);
    return kept_.emplace(index, generate(placed, seed_ + index, distinct.hidden_keys)).first->second.call;
  }

  std::uint64_t seed_;
  std::int64_t held_ = 0;
  std::int64_t cleared_ = 0;
  std::map<std::uint32_t, CallTensors> kept_;
};

class ScheduleJob final : public Job {
 public:
  ScheduleJob(CallSchedule schedule, Compute compute, std::uint64_t seed, bool compiled)
      : schedule_(std::move(schedule)), compute_(compute), seed_(seed), compiled_(compiled) {}

  [[nodiscard]] std::string title() const override {
    switch (compute_) {
      case Compute::none:
        return schedule_.title + ", planned";
      case Compute::representatives:
        return schedule_.title + ", one call of each route computed";
      case Compute::all:
        return schedule_.title + ", every call computed" + (compiled_ ? ", compiled" : "");
    }
    return schedule_.title;
  }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    Pipe pipe{schedule_.pipeline, {}};
    environment.engine.generate_time_gate(pipe);
    auto scope = environment.engine.begin_job(pipe, schedule_.steps, environment.observer, environment.timing);
    if (!scope) return fail(scope.error());
    std::vector<AttentionCall> calls;
    for (const DistinctCall& distinct : schedule_.distinct) {
      calls.push_back(schedule_.devices_stated ? distinct.call : placed_on(scope->plan().target(), distinct.call));
    }
    const SparseOptions sparse = sparse_options_from(scope->plan().captured());
    if (auto fits = check_all(environment.engine, calls); !fits) return fail(fits.error());
    return make_calls(environment, *scope, calls, sparse);
  }

 private:
  using Forwards = std::map<std::uint32_t, CompiledForward>;  ///< by pattern

  /// What a representative stands for: calls of one signature that the sparse stage gives one budget.
  using Route = std::pair<std::uint32_t, double>;

  [[nodiscard]] Route route_of(std::uint32_t call, std::int32_t step, const SparseOptions& sparse) const {
    if (!sparse.ask_for_stage()) return {call, 1.0};
    const BudgetSchedule budgets{sparse.budget, sparse.schedule_bump, sparse.schedule_steps};
    return {call, budgets.at(step, static_cast<std::int32_t>(schedule_.steps))};
  }

  [[nodiscard]] Expected<void> check_all(const Engine& engine, const std::vector<AttentionCall>& calls) const {
    if (compute_ == Compute::none) return {};
    const std::int64_t available = available_memory();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (schedule_.distinct[i].times == 0) continue;
      const Explanation explanation = engine.explain(calls[i], schedule_.distinct[i].role, 0);
      if (auto fits = check_memory(calls[i], explanation.memory_bytes, available); !fits) return fits;
    }
    return {};
  }

  [[nodiscard]] double flops_to_do(const std::vector<AttentionCall>& calls, const SparseOptions& sparse) const {
    double flops = 0.0;
    if (compute_ == Compute::none) return flops;
    if (compute_ == Compute::all) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        flops += flops_of(calls[i]) * static_cast<double>(schedule_.distinct[i].times);
      }
      return flops;
    }
    std::set<Route> seen;
    for (const CallSchedule::Forward& forward : schedule_.forwards) {
      for (const std::uint32_t index : schedule_.patterns[forward.pattern].calls) {
        if (seen.insert(route_of(index, forward.step, sparse)).second) flops += flops_of(calls[index]);
      }
    }
    return flops;
  }

  [[nodiscard]] Expected<JobOutcome> make_calls(const JobEnvironment& environment, JobScope& scope,
                                                const std::vector<AttentionCall>& calls, const SparseOptions& sparse) {
    GenerationContext& context = scope.context();
    ProgressMeter meter(environment, schedule_.calls, flops_to_do(calls, sparse));
    TensorCache tensors(seed_);
    std::set<Route> computed;
    Forwards forwards;  // the chain stays while the job runs
    std::int64_t left = schedule_.calls;
    for (const CallSchedule::Forward& forward : schedule_.forwards) {
      if (context.step() != forward.step) context.tick(forward.step);
      const CallSchedule::Pattern& pattern = schedule_.patterns[forward.pattern];
      context.before_forward(pattern.slot, pattern.layout);
      const RoleScope role(context, forward.role);
      const auto report = [&](const AttentionCall& call, bool compute) {
        meter.done(compute ? flops_of(call) : 0.0, forward.role, forward.step,
                   static_cast<std::int32_t>(schedule_.steps), --left == 0);
      };
      CompiledForward* const compiled = compiled_ ? &forwards[forward.pattern] : nullptr;
      if (compiled != nullptr && compute_ == Compute::all) {
        if (environment.stop.stop_requested()) return JobOutcome::stopped;
        if (compute_as_one(scope, forward.pattern, calls, tensors, forwards)) {
          for (const std::uint32_t index : pattern.calls) report(calls[index], true);
          continue;
        }
      }
      std::size_t site = 0;
      for (const std::uint32_t index : pattern.calls) {
        if (environment.stop.stop_requested()) return JobOutcome::stopped;
        const bool compute =
            compute_ == Compute::all ||
            (compute_ == Compute::representatives && computed.insert(route_of(index, forward.step, sparse)).second);
        const AttentionCall& call = compute ? tensors.of(index, schedule_.distinct[index], calls[index]) : calls[index];
        const attn::Route route =
            compiled == nullptr ? scope.attention(call) : scope.attention(call, compiled->site(site++));
        if (!route.failure.empty()) {
          return fail(std::string(name_of(forward.role)) + " q" + shape_text(call.query.sizes()) + " k" +
                      shape_text(call.key.sizes()) + " could not be served: " + std::string(route.failure));
        }
        report(call, compute);
      }
    }
    return JobOutcome::finished;
  }

  /// False: the calls of the forward are to be made one by one.
  [[nodiscard]] bool compute_as_one(JobScope& scope, std::uint32_t pattern, const std::vector<AttentionCall>& calls,
                                    TensorCache& tensors, Forwards& forwards) const {
    const std::vector<std::uint32_t>& indices = schedule_.patterns[pattern].calls;
    CompiledForward& compiled = forwards[pattern];
    std::vector<AttentionCall> forward;
    forward.reserve(indices.size());
    for (const std::uint32_t index : indices) forward.push_back(calls[index]);
    // Before memory is taken for all its tensors; once it is recorded they are there, and it is decided below anyway.
    if (compiled.recordings() == 0 && !scope.records(forward, compiled)) return false;
    const std::int64_t cleared = tensors.cleared();
    forward = tensors.of_all(indices, schedule_.distinct, calls);
    const auto drop_all = [&forwards] {
      bool any = false;
      for (auto& [index, one] : forwards) any = one.drop() || any;
      return any;
    };
    if (tensors.cleared() != cleared) (void)drop_all();  // other tensors may come to lie where those were
    if (forward.empty()) return false;
    if (scope.compute_as_one(forward, compiled)) return true;
    // What other forwards hold on the device may be what this one lacks, and is what its calls lack one by one.
    return drop_all() && scope.compute_as_one(forward, compiled);
  }

  CallSchedule schedule_;
  Compute compute_;
  std::uint64_t seed_;
  bool compiled_;
};

}  // namespace

AttentionCall placed_on(const Target& target, AttentionCall call) {
  if (!target.is_cpu()) return call;
  call.query.device = call.key.device = call.value.device = call.output.device = Device::cpu();
  if (call.attn_mask) call.attn_mask->device = Device::cpu();
  return call;
}

std::unique_ptr<Job> make_schedule_job(CallSchedule schedule, Compute compute, std::uint64_t seed, bool compiled) {
  return std::make_unique<ScheduleJob>(std::move(schedule), compute, seed, compiled);
}

Expected<std::unique_ptr<Job>> make_profile_job(const ProfileRequest& request) {
  auto schedule = make_schedule(request.profile, request.inputs);
  if (!schedule) return fail(schedule.error());
  return make_schedule_job(*std::move(schedule), request.compute, request.seed, request.compiled);
}

}  // namespace attn::app
