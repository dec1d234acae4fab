// SPDX-License-Identifier: GPL-3.0-or-later
// Time of each backend's host kernel on shapes of real models; FLOPs are 2 * B * H * Sq * Sk * (D + Dv).
#include "backends/all.h"
#include "core/tensor/host_buffer.h"

#include <benchmark/benchmark.h>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace attn;

struct Shape {
  const char* name;
  std::int64_t batch, heads, queries, keys, head_dim;
};

constexpr Shape kShapes[] = {
    {"flux 2 of 24 heads", 1, 2, 4608, 4608, 128},
    {"sdxl self", 1, 10, 1024, 1024, 64},
    {"sd15 cross", 2, 8, 4096, 77, 40},
    {"text encoder", 1, 12, 77, 77, 64},
};

struct Backend {
  const char* name;
  const char* platform;
  int capability;  ///< 0: none
};

constexpr Backend kBackends[] = {
    {"sdpa", "cuda", 90}, {"flash", "cuda", 90}, {"flex", "cuda", 90}, {"triton", "rocm", 0},
    {"sage", "cuda", 80}, {"sage", "cuda", 89},  {"sage", "rocm", 0},  {"sdnq", "cuda", 90},
};

std::shared_ptr<const AttentionKernel> prepare(const Backend& backend) {
  const Registry registry = make_registry();
  Target target;
  target.platform = backend.platform;
  if (backend.capability != 0) target.capability = backend.capability;
  const OptionValues options;
  PrepareContext context{target, options, nullptr, {}};
  context.original = registry.original().prepare(context)->kernel;
  if (std::string_view(backend.name) == "sdpa") return context.original;
  return registry.by_name(backend.name)->prepare(context)->kernel;
}

HostTensor random_tensor(std::initializer_list<std::int64_t> shape, unsigned seed) {
  HostTensor tensor(shape, DType::bfloat16);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) store_element(tensor.view(), i, normal(random));
  return tensor;
}

void attend(benchmark::State& state, const Backend& backend, const Shape& shape) {
  const auto kernel = prepare(backend);
  const HostTensor query = random_tensor({shape.batch, shape.heads, shape.queries, shape.head_dim}, 1);
  const HostTensor key = random_tensor({shape.batch, shape.heads, shape.keys, shape.head_dim}, 2);
  const HostTensor value = random_tensor({shape.batch, shape.heads, shape.keys, shape.head_dim}, 3);
  const HostTensor output({shape.batch, shape.heads, shape.queries, shape.head_dim}, DType::bfloat16);
  AttentionCall call;
  call.query = query.view();
  call.key = key.view();
  call.value = value.view();
  call.output = output.view();
  KernelResult result;
  for (auto _ : state) result = kernel->run(call, nullptr);
  if (!result.failure.empty()) state.SkipWithError(std::string(result.failure).c_str());
  state.SetLabel(std::string(result.variant));
  state.counters["FLOP/s"] = benchmark::Counter(flops_of(call), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : kShapes) {
    for (const Backend& backend : kBackends) {
      const std::string name = std::string(backend.name) + "/" + shape.name;
      benchmark::RegisterBenchmark(name.c_str(), [&](benchmark::State& state) { attend(state, backend, shape); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
