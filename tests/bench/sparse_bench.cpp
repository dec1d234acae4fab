// SPDX-License-Identifier: GPL-3.0-or-later
// Sparse against dense attention through the router, flex serving both: the same call in turns, medians of all turns.
//   select_share  choosing the tiles as a share of the dense time
//   speedup       dense time / sparse time, choosing included
//   of_ideal      speedup * density: 1 where sparse costs exactly its share of the tiles
// The same with _cpu counts the processor time of all threads instead: steady on a machine that others use too. The
// label holds the load average at the end.
#include "backends/all.h"
#include "core/context/generation_context.h"
#include "core/layout/layout_reader.h"
#include "core/router/router.h"
#include "core/settings/settings.h"
#include "core/tensor/host_buffer.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

using namespace attn;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHeads = 24;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kText = 512;

/// Splits evenly over the machine's threads.
void on_all_threads(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> workers;
  for (std::int64_t t = 1; t < threads; ++t) {
    workers.emplace_back([=, &body] { body(n * t / threads, n * (t + 1) / threads); });
  }
  body(0, n / threads);
}

void fill_noise(HostTensor& tensor, std::uint64_t state) {
  const TensorView view = tensor.view();
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    store_element(view, i, static_cast<float>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 23));
  }
}

struct Seconds {
  double wall = 0.0;
  double cpu = 0.0;  ///< of all threads of the process
};

class Watch {
 public:
  [[nodiscard]] Seconds seconds() const {
    return {std::chrono::duration<double>(Clock::now() - wall_).count(),
            static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC};
  }

 private:
  Clock::time_point wall_ = Clock::now();
  std::clock_t cpu_ = std::clock();
};

/// The chain, the stage and one call of a joint denoiser: text, then image.
class Setting {
 public:
  explicit Setting(std::int64_t tokens)
      : registry_(make_registry()),
        query_({1, kHeads, tokens, kHeadDim}, DType::bfloat16),
        key_({1, kHeads, tokens, kHeadDim}, DType::bfloat16),
        value_({1, kHeads, tokens, kHeadDim}, DType::bfloat16),
        output_({1, kHeads, tokens, kHeadDim}, DType::bfloat16),
        stage_(options()) {
    Target target;
    target.name = "bench";
    target.platform = "cuda";
    PlanRequest request;
    request.labels = {"Flex attention"};
    request.target = target;
    request.options = Settings(option_specs(registry_, target)).values();
    plan_ = Plan::build(registry_, std::move(request));
    fill_noise(query_, 88172645463325252ULL);
    fill_noise(key_, 88172645463325253ULL);
    fill_noise(value_, 88172645463325254ULL);
    call_.query = query_.view();
    call_.key = key_.view();
    call_.value = value_.view();
    call_.output = output_.view();
    context_.begin(PipelineInfo{"bench", std::nullopt, std::nullopt, std::nullopt}, 20);
    context_.set_layout(prefix_layout(tokens, kText));
    stage_.set_parallel_for(on_all_threads);
  }

  [[nodiscard]] bool is_ready() const { return plan_->chain() == "flex>sdpa"; }
  Seconds dense() { return timed(nullptr); }
  Seconds sparse() { return timed(&stage_); }
  Seconds select() {
    const Watch watch;
    const StageDecision decision = stage_.decide(call_, context_, plan_->entries().front().capabilities);
    const Seconds seconds = watch.seconds();
    density_ = decision.selection != nullptr ? decision.selection->density : 1.0;
    return seconds;
  }
  [[nodiscard]] double density() const { return density_; }
  [[nodiscard]] double flops() const { return flops_of(call_); }

 private:
  static SparseOptions options() {
    SparseOptions options;
    options.enabled = true;
    options.budget = 0.3;
    options.min_tokens = 0;
    return options;
  }

  Seconds timed(SelectionStage* stage) {
    Router router(plan_, &context_, nullptr, stage);
    const Watch watch;
    const Route route = router(call_);
    const Seconds seconds = watch.seconds();
    const bool right = route.executed == "flex" && route.failure.empty() && route.sparse == (stage != nullptr);
    return right ? seconds : Seconds{std::nan(""), std::nan("")};
  }

  Registry registry_;
  HostTensor query_, key_, value_, output_;
  SparseStage stage_;
  std::shared_ptr<const Plan> plan_;
  GenerationContext context_;
  AttentionCall call_;
  double density_ = 1.0;
};

/// What was measured of one thing in all turns.
struct Turns {
  std::vector<Seconds> all;
  [[nodiscard]] double median(double Seconds::*clock) const {
    std::vector<double> values;
    for (const Seconds& one : all) values.push_back(one.*clock);
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

void sparse_against_dense(benchmark::State& state) {
  Setting setting(state.range(0));
  if (!setting.is_ready()) {
    state.SkipWithError("the chain is not flex>sdpa");
    return;
  }
  Turns dense;
  Turns select;
  Turns sparse;
  static_cast<void>(setting.select());  // the layout's geometry is laid once
  for (auto _ : state) {
    dense.all.push_back(setting.dense());
    select.all.push_back(setting.select());
    sparse.all.push_back(setting.sparse());
    if (std::isnan(dense.all.back().wall) || std::isnan(sparse.all.back().wall)) {
      state.SkipWithError("another route than flex served");
      return;
    }
    state.SetIterationTime(sparse.all.back().wall);
  }
  for (const auto& [clock, suffix] : {std::pair{&Seconds::wall, ""}, {&Seconds::cpu, "_cpu"}}) {
    const double dense_seconds = dense.median(clock);
    const double speedup = dense_seconds / sparse.median(clock);
    state.counters[std::string("dense_ms") + suffix] = dense_seconds * 1e3;
    state.counters[std::string("sparse_ms") + suffix] = sparse.median(clock) * 1e3;
    state.counters[std::string("select_ms") + suffix] = select.median(clock) * 1e3;
    state.counters[std::string("select_share") + suffix] = select.median(clock) / dense_seconds;
    state.counters[std::string("speedup") + suffix] = speedup;
    state.counters[std::string("of_ideal") + suffix] = speedup * setting.density();
  }
  state.counters["density"] = setting.density();
  state.counters["dense_GFLOPs"] = setting.flops() / dense.median(&Seconds::wall) * 1e-9;
  double load = 0.0;
  if (getloadavg(&load, 1) == 1) state.SetLabel("load " + std::to_string(load).substr(0, 5));
}

}  // namespace

BENCHMARK(sparse_against_dense)->Arg(2048)->Iterations(9)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(sparse_against_dense)->Arg(9216)->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(sparse_against_dense)->Arg(16384)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
