// SPDX-License-Identifier: GPL-3.0-or-later
// Levers on the calls of a profile: one of each kind is computed, by baseline and variant in turns.
#include "app/jobs/levers/bits_hash.h"
#include "app/jobs/levers/host_memory.h"
#include "app/jobs/levers/lever_measure.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/tensors/generated.h"
#include "core/sparse/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace attn::app {
namespace {

/// Calls in one repetition, at most.
constexpr int kMostAtOnce = 256;

/// One kind of call under one budget: what is computed once and counted often.
struct Unit {
  std::uint32_t call = 0;
  double budget = 1.0;
  CallSchedule::Forward forward;  ///< the first that makes it
  std::int64_t times = 0;
};

std::vector<Unit> units_of(const CallSchedule& schedule, const SparseOptions& sparse) {
  const BudgetSchedule budgets{sparse.budget, sparse.schedule_bump, sparse.schedule_steps};
  std::vector<Unit> units;
  std::map<std::pair<std::uint32_t, double>, std::size_t> known;
  for (const CallSchedule::Forward& forward : schedule.forwards) {
    const double budget =
        sparse.ask_for_stage() ? budgets.at(forward.step, static_cast<std::int64_t>(schedule.steps)) : 1.0;
    for (const std::uint32_t call : schedule.patterns[forward.pattern].calls) {
      const auto [at, is_new] = known.emplace(std::pair(call, budget), units.size());
      if (is_new) units.push_back({call, budget, forward, 0});
      ++units[at->second].times;
    }
  }
  return units;
}

/// One side: an engine's running job that serves one call at a time.
class Side {
 public:
  static Expected<Side> open(const LeverSetup& setup, const CallSchedule& schedule) {
    Pipe pipe{schedule.pipeline, {}, {}};
    auto scope = setup.engine.begin_job(pipe, schedule.steps, nullptr, false);
    if (!scope) return fail(scope.error());
    return Side(*std::move(scope), setup.compiled, schedule);
  }

  [[nodiscard]] const Plan& plan() const noexcept { return scope_.plan(); }

  void move_to(const Unit& unit) {
    GenerationContext& context = scope_.context();
    context.tick(unit.forward.step);
    const CallSchedule::Pattern& pattern = schedule_->patterns[unit.forward.pattern];
    context.before_forward(pattern.slot, pattern.layout);
    context.set_role(unit.forward.role);
    site_ = {};
  }
  Route serve(const AttentionCall& call) { return compiled_ ? scope_.attention(call, site_) : scope_.attention(call); }
  /// Seconds of one call, out of `count` of them one after another.
  double timed(const AttentionCall& call, int count) {
    return seconds_of([&] {
             for (int i = 0; i < count; ++i) serve(call);
           }) /
           count;
  }

 private:
  Side(JobScope scope, bool compiled, const CallSchedule& schedule)
      : scope_(std::move(scope)), compiled_(compiled), schedule_(&schedule) {}

  JobScope scope_;
  bool compiled_;
  const CallSchedule* schedule_;
  FrozenRoute site_;
};

class ScheduleLevers final : public LeverJob {
 public:
  ScheduleLevers(CallSchedule schedule, std::uint64_t seed) : schedule_(std::move(schedule)), seed_(seed) {}

  [[nodiscard]] std::string title() const override { return schedule_.title; }
  [[nodiscard]] bool draws() const override { return false; }
  [[nodiscard]] std::int64_t steps() const override { return schedule_.steps; }
  [[nodiscard]] PipelineInfo pipeline() const override { return schedule_.pipeline; }

  [[nodiscard]] std::string identity() const override {
    BitsHash hash;
    hash.add(schedule_.title + "|" + std::to_string(schedule_.steps) + "|" + std::to_string(seed_));
    for (const DistinctCall& one : schedule_.distinct) {
      hash.add("|" + write_call({one.call, one.role, 0, 0, one.hidden_keys}) + " x" + std::to_string(one.times));
    }
    for (const CallSchedule::Pattern& pattern : schedule_.patterns) {
      hash.add("|" + pattern.slot);
      if (!pattern.layout) continue;
      for (const TokenSpan& span : pattern.layout->spans) {
        hash.add(span.kind + std::to_string(span.start) + "-" + std::to_string(span.end));
      }
    }
    return "calls:" + hash.text();
  }

  [[nodiscard]] std::vector<LeverCall> calls(const Target& target) const override {
    std::vector<LeverCall> all;
    for (const DistinctCall& one : schedule_.distinct) {
      if (one.times == 0) continue;
      const AttentionCall call = placed(target, one.call);
      all.push_back({call, one.role, one.times, write_call({call, one.role, 0, 0, one.hidden_keys})});
    }
    return all;
  }

  [[nodiscard]] Expected<LeverMeasure> measure(const LeverSetup& baseline, const LeverSetup& variant,
                                               const LeverRepeat& how) const override {
    auto exact = Side::open(baseline, schedule_);
    if (!exact) return fail(exact.error());
    auto tried = Side::open(variant, schedule_);
    if (!tried) return fail(tried.error());
    const std::vector<Unit> units = units_of(schedule_, sparse_options_from(tried->plan().captured()));
    LeverMeasure measure;
    if (auto fits = forecast(baseline.engine, variant.engine, measure); !fits) return fail(fits.error());
    const auto repeats = static_cast<std::size_t>(how.repeat);
    measure.seconds.assign(repeats, 0.0);
    measure.baseline_seconds.assign(repeats, 0.0);
    Hashes hashes;
    double done = 0.0;
    double all = 0.0;
    for (const Unit& unit : units) all += flops_of(schedule_.distinct[unit.call].call) + 1.0;
    for (const Unit& unit : units) {
      if (auto served = measure_unit(unit, *exact, *tried, how, measure, hashes); !served) return fail(served.error());
      done += flops_of(schedule_.distinct[unit.call].call) + 1.0;
      if (how.progress) how.progress(done / all);
    }
    measure.attention_seconds = measure.seconds;
    measure.baseline_hash = hashes.exact.text();
    measure.hash = hashes.tried.text();
    return measure;
  }

 private:
  struct Hashes {
    BitsHash exact;
    BitsHash tried;
    std::set<std::uint32_t> met;  ///< calls whose exact result is in the hash, whatever their budgets
  };

  [[nodiscard]] AttentionCall placed(const Target& target, const AttentionCall& call) const {
    return schedule_.devices_stated ? call : placed_on(target, call);
  }

  [[nodiscard]] Expected<void> forecast(const Engine& baseline, const Engine& variant, LeverMeasure& measure) const {
    const std::int64_t available = available_memory();
    for (const LeverCall& call : calls(variant.target())) {
      const std::int64_t second_output = call.call.query.bytes();
      const auto bytes = forecast_bytes(variant, call, available - second_output);
      if (!bytes) return fail(bytes.error());
      measure.memory_bytes = std::max(measure.memory_bytes, *bytes);
      const auto exact = forecast_bytes(baseline, call, available - second_output);
      if (!exact) return fail("exact attention: " + exact.error());
    }
    return {};
  }

  /// Error: nobody served, or a stop was asked for.
  [[nodiscard]] Expected<void> measure_unit(const Unit& unit, Side& exact, Side& tried, const LeverRepeat& how,
                                            LeverMeasure& measure, Hashes& hashes) const {
    if (how.stop.stop_requested()) return fail(std::string(kLeverStopped));
    const DistinctCall& distinct = schedule_.distinct[unit.call];
    const AttentionCall placed_call = placed(tried.plan().target(), distinct.call);
    CallTensors tensors = generate(placed_call, seed_ + unit.call, distinct.hidden_keys);
    HostTensor exact_output(tensors.call.output.sizes(), tensors.call.output.dtype, tensors.call.output.device);
    AttentionCall exact_call = tensors.call;
    exact_call.output = exact_output.view();
    exact.move_to(unit);
    tried.move_to(unit);

    LeverRoute route{.call = write_call({placed_call, distinct.role, 0, 0, distinct.hidden_keys}),
                     .role = distinct.role,
                     .budget = unit.budget,
                     .calls = unit.times};
    const HostPeak peak;
    double warm = 0.0;
    Route served;
    warm = seconds_of([&] { served = tried.serve(tensors.call); });
    if (!served.failure.empty()) {
      return fail(route.call + " could not be served: " + std::string(served.failure));
    }
    if (const auto grown = peak.grown()) {
      measure.host_bytes = larger(measure.host_bytes, *grown + tensor_bytes(placed_call));
    }
    const Route exactly = exact.serve(exact_call);
    if (!exactly.failure.empty()) {
      return fail(route.call + " could not be served by exact attention: " + std::string(exactly.failure));
    }
    route.backend = served_by(served.executed, served.sparse);
    route.kernel = served.variant;
    if (!served.sparse) route.budget = 1.0;
    note_error(route, exact_call.output, tensors.call.output);
    if (hashes.met.insert(unit.call).second) {
      hashes.exact.add({exact_output.as<std::byte>(), static_cast<std::size_t>(exact_output.view().bytes())});
    }
    hashes.tried.add({tensors.output.data(), tensors.output.size()});
    if (auto timed = time_unit(unit, exact, tried, {exact_call, tensors.call, warm}, how, measure, route); !timed) {
      return timed;
    }
    measure.routes.push_back(std::move(route));
    return {};
  }

  struct Timed {
    const AttentionCall& exact;
    const AttentionCall& tried;
    double warm = 0.0;
  };
  [[nodiscard]] static Expected<void> time_unit(const Unit& unit, Side& exact, Side& tried, const Timed& calls,
                                                const LeverRepeat& how, LeverMeasure& measure, LeverRoute& route) {
    const int at_once =
        static_cast<int>(std::clamp(how.shortest / std::max(calls.warm, 1e-9), 1.0, double{kMostAtOnce}));
    std::vector<double> seconds;
    std::vector<double> baseline;
    for (int i = 0; i < how.repeat; ++i) {
      if (how.stop.stop_requested()) return fail(std::string(kLeverStopped));
      // Whoever comes first finds other caches than whoever comes second.
      for (const bool tries : {i % 2 == 0, i % 2 != 0}) {
        if (tries) seconds.push_back(tried.timed(calls.tried, at_once));
        if (!tries) baseline.push_back(exact.timed(calls.exact, at_once));
      }
      const auto at = static_cast<std::size_t>(i);
      measure.seconds[at] += seconds.back() * static_cast<double>(unit.times);
      measure.baseline_seconds[at] += baseline.back() * static_cast<double>(unit.times);
    }
    route.seconds = median_of(std::move(seconds));
    route.baseline_seconds = median_of(std::move(baseline));
    return {};
  }

  CallSchedule schedule_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<LeverJob> make_lever_job(CallSchedule schedule, std::uint64_t seed) {
  return std::make_unique<ScheduleLevers>(std::move(schedule), seed);
}

}  // namespace attn::app
