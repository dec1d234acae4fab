// SPDX-License-Identifier: GPL-3.0-or-later
// The building blocks of the host kernels, each alone on operands that stay in the level-1 cache.
#include "backends/simd/exact_tiles.h"
#include "backends/simd/int8_tiles.h"
#include "core/tensor/host_buffer.h"

#include <benchmark/benchmark.h>
#include <limits>
#include <random>

using namespace attn;

namespace {

constexpr std::int64_t kDepth = 128, kRows = 48;  // whole groups of every panel width

HostTensor normal(std::initializer_list<std::int64_t> shape, DType dtype, unsigned seed) {
  HostTensor tensor(shape, dtype);
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) store_element(tensor.view(), i, draw(random));
  return tensor;
}

void rate(benchmark::State& state, const char* name, std::int64_t each) {
  state.counters[name] = benchmark::Counter(static_cast<double>(each), benchmark::Counter::kIsIterationInvariantRate);
}

void exp2_of_scores(benchmark::State& state) {
  const ExactTiles tiles = exact_tiles();
  HostTensor x = normal({512}, DType::float32, 1), out({512}, DType::float32);
  for (int i = 0; i < 512; ++i) x.as<float>()[i] = -std::abs(8.0F * x.as<float>()[i]);
  for (auto _ : state) {
    tiles.exp2(x.as<float>(), 512, out.as<float>());
    benchmark::ClobberMemory();
  }
  rate(state, "elements", 512);
}
BENCHMARK(exp2_of_scores);

void softmax_of_a_row(benchmark::State& state) {
  const ExactTiles tiles = exact_tiles();
  HostTensor scores = normal({512}, DType::float32, 1);
  float maximum = 8.0F, sum = 0.0F;
  // The row is turned into weights in [0, 1], which are scores as good as any.
  for (auto _ : state) benchmark::DoNotOptimize(tiles.softmax_row(scores.as<float>(), 512, &maximum, &sum));
  rate(state, "elements", 512);
}
BENCHMARK(softmax_of_a_row);

void load_of_a_row(benchmark::State& state, DType dtype) {
  const ExactTiles tiles = exact_tiles();
  const HostTensor row = normal({kDepth}, dtype, 1);
  HostTensor wide({kDepth}, DType::float32);
  for (auto _ : state) {
    tiles.load_row(dtype, row.view().data, kDepth, 2.0F, wide.as<float>());
    benchmark::ClobberMemory();
  }
  rate(state, "elements", kDepth);
}
BENCHMARK_CAPTURE(load_of_a_row, f32, DType::float32);
BENCHMARK_CAPTURE(load_of_a_row, f16, DType::float16);
BENCHMARK_CAPTURE(load_of_a_row, bf16, DType::bfloat16);

void packing_of_keys(benchmark::State& state) {
  const ExactTiles tiles = exact_tiles();
  const int vectors = std::min(tiles.max_vectors, 4);
  const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
  HostTensor rows = normal({width, kDepth}, DType::float32, 1), panel({kDepth, width}, DType::float32);
  for (auto _ : state) {
    tiles.pack_keys(rows.as<float>(), kDepth, width, kDepth, vectors, panel.as<float>());
    benchmark::ClobberMemory();
  }
  rate(state, "elements", kDepth * width);
}
BENCHMARK(packing_of_keys);

void scores_fp32(benchmark::State& state) {
  const ExactTiles tiles = exact_tiles();
  const int vectors = static_cast<int>(state.range(0));
  if (vectors > tiles.max_vectors) return state.SkipWithError("no panel of this instruction set is that wide");
  const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
  HostTensor queries = normal({kRows, kDepth}, DType::float32, 1), panel = normal({kDepth, width}, DType::float32, 2);
  HostTensor scores({kRows, width}, DType::float32);
  for (auto _ : state) {
    tiles.score_panel(vectors, queries.as<float>(), kDepth, panel.as<float>(), kRows, kDepth, scores.as<float>(),
                      width);
    benchmark::ClobberMemory();
  }
  rate(state, "FLOP/s", 2 * kRows * width * kDepth);
}
BENCHMARK(scores_fp32)->DenseRange(1, 5);

void scores_by_pairs(benchmark::State& state, bool instruction) {
  const ExactTiles tiles = exact_tiles();
  if (instruction && !pairs_pay(tiles)) return state.SkipWithError("pair products do not pay on this processor");
  const int vectors = std::min(tiles.max_vectors, 4);
  const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
  HostTensor queries = normal({kRows, kDepth}, DType::bfloat16, 1), panel = normal({kDepth, width}, DType::bfloat16, 2);
  HostTensor scores({kRows, width}, DType::float32);
  for (auto _ : state) {
    tiles.pair_panel(instruction, vectors, queries.as<std::int32_t>(), kDepth / 2, panel.as<std::int32_t>(), kRows,
                     kDepth / 2, 0.5F, scores.as<float>(), width);
    benchmark::ClobberMemory();
  }
  rate(state, "FLOP/s", 2 * kRows * width * kDepth);
}
BENCHMARK_CAPTURE(scores_by_pairs, instruction, true);
BENCHMARK_CAPTURE(scores_by_pairs, widened, false);

void scores_int8(benchmark::State& state) {
  const Int8Tiles tiles = int8_tiles();
  const int vectors = std::min(tiles.max_vectors, 4);
  const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
  HostBuffer queries(static_cast<std::size_t>(kRows * kDepth)), panel(static_cast<std::size_t>(kDepth * width));
  HostBuffer products(static_cast<std::size_t>(kRows * width * 4));
  for (auto _ : state) {
    tiles.multiply(vectors, queries.as<std::uint8_t>(), kDepth, panel.as<std::int8_t>(), kRows, kDepth / 4,
                   products.as<std::int32_t>(), width);
    benchmark::ClobberMemory();
  }
  rate(state, "OP/s", 2 * kRows * width * kDepth);
}
BENCHMARK(scores_int8);

void sums_of_values(benchmark::State& state) {
  const ExactTiles tiles = exact_tiles();
  const int vectors = std::min(tiles.max_vectors, 4);
  const std::int64_t width = std::int64_t{vectors} * tiles.lanes, keys = 64;
  HostTensor p = normal({kRows, keys}, DType::float32, 1), panel = normal({keys, width}, DType::float32, 2);
  HostTensor rescale({kRows}, DType::float32), out({kRows, width}, DType::float32);
  const Stretch all{0, 0, keys};
  for (auto _ : state) {
    tiles.value_panel(vectors, p.as<float>(), keys, panel.as<float>(), &all, 1, kRows, rescale.as<float>(),
                      out.as<float>(), width);
    benchmark::ClobberMemory();
  }
  rate(state, "FLOP/s", 2 * kRows * width * keys);
}
BENCHMARK(sums_of_values);

}  // namespace

BENCHMARK_MAIN();
