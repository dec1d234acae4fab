// SPDX-License-Identifier: GPL-3.0-or-later
// What routing itself costs per call: chains of 1, 3 and 6 entries, clean, observed into a ring, and timed.
// Kernels answer at once, so the figures are the router's; timed calls have data, the others need none.
#include "core/router/router.h"
#include "core/tensor/host_buffer.h"
#include "support/kernels.h"
#include "trace/collector.h"

#include <benchmark/benchmark.h>

using namespace attn;

namespace {

/// Returns without computing, except for the tiny calls that prove a kernel when the chain is built: what is left is
/// the dispatch.
class Instant final : public test::ReferenceKernel {
 public:
  Instant() : ReferenceKernel("last", "instant") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    if (call.head_dim() != kHeadDim) return ReferenceKernel::run(call, selection);
    return {"last", "instant", {}};
  }
  static constexpr std::int64_t kHeadDim = 128;
};

Registry registry_of(int entries) {
  static constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f"};
  Registry registry;
  registry.set_original(test::reference_original());
  for (int i = 0; i < entries; ++i) {
    BackendSpec spec = test::reference_spec(kNames[i], std::string(kNames[i]), 10 - i);
    // Every entry states four checks, as the real ones do; all but the last decline at the fourth.
    spec.constraints = {.allow_mask = false, .allow_float32 = false, .max_head_dim = i + 1 < entries ? 64 : 128};
    spec.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> {
      return PreparedBackend{std::make_shared<Instant>(), std::nullopt, {}};
    };
    (void)registry.add(std::move(spec));
  }
  return registry;
}

enum class Mode { clean, observed, timed };

void route(benchmark::State& state, Mode mode) {
  const Registry registry = registry_of(static_cast<int>(state.range(0)));
  PlanRequest request;
  request.labels = registry.labels();
  request.target = test::target_of("cuda");
  const auto plan = Plan::build(registry, std::move(request));
  trace::EventRing ring;
  trace::RingObserver observer(ring);
  GenerationContext context;
  context.begin(std::nullopt, 4);
  Router router(plan, &context, mode == Mode::clean ? nullptr : &observer, nullptr, mode == Mode::timed);
  HostTensor tensor({1, 2, 16, 128}, DType::bfloat16);
  AttentionCall call = test::plain_call({1, 2, 16, 128}, {1, 2, 16, 128});
  if (mode == Mode::timed) call.query.data = call.key.data = call.value.data = call.output.data = tensor.view().data;
  std::vector<trace::RouteEvent> drained(ring.capacity());
  std::size_t pushed = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(router(call));
    if (++pushed == ring.capacity()) {  // an empty ring again, off the clock: a full one would only count drops
      state.PauseTiming();
      ring.pop(drained);
      pushed = 0;
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

BENCHMARK_CAPTURE(route, clean, Mode::clean)->Arg(1)->Arg(3)->Arg(6);
BENCHMARK_CAPTURE(route, observed, Mode::observed)->Arg(1)->Arg(3)->Arg(6);
BENCHMARK_CAPTURE(route, timed, Mode::timed)->Arg(1)->Arg(3)->Arg(6);

BENCHMARK_MAIN();
