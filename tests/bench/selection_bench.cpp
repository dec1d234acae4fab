// SPDX-License-Identifier: GPL-3.0-or-later
// What choosing tiles costs. `flops_share` is the time as a share of the time that dense attention of the same call
// takes at 100 GFLOP/s, a fast host kernel on few cores; `scratch` and `keep` are bytes.
#include "core/layout/layout_reader.h"
#include "core/sparse/selector.h"
#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"

#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

using namespace attn;

namespace {

constexpr std::int64_t kHeadDim = 128;
constexpr double kDenseFlopsPerSecond = 1e11;

/// Splits evenly over the machine's threads.
void on_all_threads(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (std::int64_t t = 0; t < threads; ++t) {
    workers.emplace_back([=, &body] { body(n * t / threads, n * (t + 1) / threads); });
  }
  for (std::thread& worker : workers) worker.join();
}

HostTensor cheap_noise(std::int64_t heads, std::int64_t tokens, DType dtype) {
  HostTensor tensor({1, heads, tokens, kHeadDim}, dtype);
  std::uint64_t state = 88172645463325252ULL;
  const TensorView view = tensor.view();
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    store_element(view, i, static_cast<float>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 23));
  }
  return tensor;
}

void select(benchmark::State& state, DType dtype, bool threads) {
  const std::int64_t tokens = state.range(0);
  const std::int64_t heads = state.range(1);
  const HostTensor query = cheap_noise(heads, tokens, dtype);
  const HostTensor key = cheap_noise(heads, tokens, dtype);
  const LayoutTiles tiles(prefix_layout(tokens, 512), {tokens, tokens});
  SelectorRequest request;
  if (threads) request.parallel_for = on_all_threads;
  BlockSelection selection;
  std::int64_t runs = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) {
    if (!select_tiles(query.view(), key.view(), tiles, request, selection).value_or(false))
      state.SkipWithError("dense");
    benchmark::DoNotOptimize(selection.keep.data());
    ++runs;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const SelectionCost cost = selection_cost(query.view(), key.view(), tiles.grid(), request);
  const auto length = static_cast<double>(tokens);
  const double dense = 4.0 * static_cast<double>(heads * kHeadDim) * length * length / kDenseFlopsPerSecond;
  state.counters["flops_share"] = seconds / static_cast<double>(runs) / dense;
  state.counters["density"] = selection.density;
  state.counters["scratch"] = static_cast<double>(cost.scratch_bytes);
  state.counters["keep"] = static_cast<double>(cost.keep_bytes);
}

void lengths(benchmark::internal::Benchmark* bench) {
  bench->Args({2048, 24})->Args({9216, 24})->Args({38222, 56})->Unit(benchmark::kMillisecond)->UseRealTime();
}

void mark_geometry(benchmark::State& state) {
  const std::int64_t tokens = state.range(0);
  const TokenLayout layout = prefix_layout(tokens, 512);
  for (auto _ : state) {
    const LayoutTiles tiles(layout, {tokens, tokens});
    benchmark::DoNotOptimize(selection_totals(tiles, 0.3));
  }
}

}  // namespace

BENCHMARK_CAPTURE(select, bf16_one_thread, DType::bfloat16, false)->Apply(lengths);
BENCHMARK_CAPTURE(select, bf16_all_threads, DType::bfloat16, true)->Apply(lengths);
BENCHMARK_CAPTURE(select, fp16_one_thread, DType::float16, false)->Apply(lengths);
BENCHMARK_CAPTURE(select, fp32_one_thread, DType::float32, false)->Apply(lengths);
BENCHMARK(mark_geometry)->Arg(9216)->Arg(38222)->Arg(1'000'000);

BENCHMARK_MAIN();
