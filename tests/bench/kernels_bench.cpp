// SPDX-License-Identifier: GPL-3.0-or-later
// The host kernels on the shapes of real models. Google Benchmark runs the variants of a shape in random order, so
// that what else happens on the machine meets all of them; the table gives medians, percent of the fp32 multiply-add
// peak (measured in the same run, on as many threads) and the error against float64 on the same tensors.
//
//     kernels_bench [--threads 1,2] [--quick] [--peers] [--target AVX2] [--benchmark_filter=REGEX]
//                   [--benchmark_repetitions=N]
#include "backends/simd/exact_tiles.h"
#include "backends/simd/int8_tiles.h"
#include "core/tensor/host_buffer.h"
#include "fma_peak.h"
#include "kernel_table.h"
#include "peers.h"

#include <benchmark/benchmark.h>
#include <hwy/targets.h>
#include <tbb/global_control.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace attn;

struct Shape {
  const char* name;
  std::int64_t batch, heads, queries, keys, head_dim;
  bool causal;
};

constexpr Shape kShapes[] = {
    {"flux", 1, 24, 4608, 4608, 128, false},  {"small", 1, 24, 1024, 1024, 64, false},
    {"sd15", 2, 8, 4096, 4096, 40, false},    {"sdxl", 2, 10, 4096, 4096, 64, false},
    {"video", 1, 12, 8192, 8192, 128, false}, {"vae", 1, 1, 9216, 9216, 512, false},
    {"cross", 2, 8, 4096, 77, 40, false},     {"causal", 1, 16, 4096, 4096, 128, true},
    {"1k", 1, 4, 1024, 1024, 128, false},     {"16k", 1, 4, 16384, 16384, 128, false},
};

struct Settings {
  std::vector<int> threads{1, 2};
  bool quick = false;
  bool peers = false;
};

void fill(const HostTensor& tensor, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) store_element(tensor.view(), i, normal(random));
}

/// The tensors of a shape and a call on them.
struct Operands {
  Operands(const Shape& s, DType dtype)
      : query({s.batch, s.heads, s.queries, s.head_dim}, dtype),
        key({s.batch, s.heads, s.keys, s.head_dim}, dtype),
        value({s.batch, s.heads, s.keys, s.head_dim}, dtype),
        output({s.batch, s.heads, s.queries, s.head_dim}, dtype) {
    fill(query, 1);
    fill(key, 2);
    fill(value, 3);
    call.query = query.view(), call.key = key.view(), call.value = value.view(), call.output = output.view();
    call.is_causal = s.causal;
  }
  HostTensor query, key, value, output;
  AttentionCall call;
};

BlockSelection random_selection(const Shape& s, double kept) {
  BlockSelection selection;
  selection.heads = s.heads;
  selection.query_tiles = (s.queries + 127) / 128;
  selection.key_tiles = (s.keys + 63) / 64;
  std::mt19937 random(5);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(selection.key_tiles));
  const auto count = static_cast<std::size_t>(std::lround(kept * static_cast<double>(selection.key_tiles)));
  for (std::int64_t i = 0; i < selection.heads * selection.query_tiles; ++i) {
    std::fill(row.begin(), row.end(), std::uint8_t{0});
    std::fill_n(row.begin(), count, std::uint8_t{1});
    std::shuffle(row.begin(), row.end(), random);
    selection.keep.insert(selection.keep.end(), row.begin(), row.end());
  }
  selection.density = static_cast<double>(count) / static_cast<double>(selection.key_tiles);
  return selection;
}

/// Relative L1 of what `call` holds in its output against float64, over query rows spread through the call.
double error_of(const AttentionCall& call, const BlockSelection* selection) {
  constexpr std::int64_t kSamples = 24;
  const std::int64_t queries = call.query_tokens(), keys = call.key_tokens(), dim = call.head_dim();
  const std::int64_t total = call.query.size(-4) * call.heads() * queries;
  double error = 0.0, size = 0.0;
  std::vector<double> weight(static_cast<std::size_t>(keys));
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const std::int64_t row = (sample * 2 + 1) * total / (2 * kSamples), head = row / queries, i = row % queries;
    double sum = 0.0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0.0;
      for (std::int64_t d = 0; d < dim; ++d) {
        score += static_cast<double>(load_element(call.query, row * dim + d)) *
                 static_cast<double>(load_element(call.key, (head * keys + j) * dim + d));
      }
      bool kept = !call.is_causal || j <= i;
      if (selection != nullptr) {
        kept = kept && selection->kept(head / call.heads(), head % call.heads(), i / selection->block_q,
                                       j / selection->block_kv);
      }
      if (call.attn_mask && call.attn_mask->dtype != DType::boolean) {
        score += static_cast<double>(load_element(*call.attn_mask, i * keys + j)) / call.effective_scale();
      }
      // Logits of normal tensors stay small: no maximum is needed in double.
      weight[static_cast<std::size_t>(j)] = kept ? std::exp(score * call.effective_scale()) : 0.0;
      sum += weight[static_cast<std::size_t>(j)];
    }
    for (std::int64_t d = 0; d < dim; ++d) {
      double exact = 0.0;
      for (std::int64_t j = 0; j < keys; ++j) {
        exact += weight[static_cast<std::size_t>(j)] *
                 static_cast<double>(load_element(call.value, (head * keys + j) * dim + d));
      }
      exact = sum == 0.0 ? 0.0 : exact / sum;
      error += std::abs(static_cast<double>(load_element(call.output, row * dim + d)) - exact);
      size += std::abs(exact);
    }
  }
  return size == 0.0 ? 0.0 : error / size;
}

/// One way to compute a shape.
struct Variant {
  std::string name;
  std::function<void()> run;
  double work = 1.0;                ///< share of the shape's FLOPs that is left
  std::function<double()> error{};  ///< of what the last run wrote
  std::string against{"f32"};
};

/// The tensors of one shape and everything that is measured on them.
class Bench {
 public:
  Bench(const Shape& shape, const Settings& settings)
      : s_(shape), f32_(shape, DType::float32), bf16_(shape, DType::bfloat16), f16_(shape, DType::float16) {
    add_exact("f32", f32_.call);
    add_exact("f16", f16_.call);
    add_exact("bf16", bf16_.call);
    add_int8("int8", Int8Values::fp32, nullptr, "f32");
    add_int8("int8+int8", Int8Values::int8, nullptr, "f32");
    if (!shape.causal && shape.queries < 16384) add_masks();
    if (shape.keys >= 4096 && shape.head_dim == 128 && !shape.causal) add_selections();
    if (settings.peers && !shape.causal) peers_ = true;
  }

  void run(int threads, double peak, bench::KernelTable& table) {
    std::vector<Variant> variants = variants_;
    if (peers_) {
      for (bench::Peer& peer : bench::peers_of(f32_.call, threads)) variants.push_back({peer.name, peer.run});
    }
    std::vector<std::string> names;
    std::map<std::string, std::string> against;
    const double flops = flops_of(f32_.call) * (s_.causal ? 0.5 : 1.0);
    const auto name_of = [&](const std::string& variant) {
      return std::string(s_.name) + "/" + variant + "/" + std::to_string(threads);
    };
    for (const Variant& variant : variants) {
      names.push_back(name_of(variant.name));
      against[names.back()] = name_of(variant.against);
      benchmark::RegisterBenchmark(names.back().c_str(),
                                   [variant, flops, peak](benchmark::State& state) {
                                     for (auto _ : state) variant.run();
                                     state.counters["FLOP"] = flops * variant.work;
                                     state.counters["peak"] = peak;
                                     if (variant.error) state.counters["error"] = variant.error();
                                   })
          ->UseRealTime()
          ->Iterations(1);
    }
    for (const Variant& variant : variants) variant.run();  // caches, pages and the processor's clock
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    benchmark::RunSpecifiedBenchmarks(&table);
    benchmark::ClearRegisteredBenchmarks();
    table.print(names, against);
  }

 private:
  void add_exact(const std::string& name, const AttentionCall& call, const BlockSelection* selection = nullptr) {
    variants_.push_back({name, [call, selection] { exact_attention(call, selection); },
                         selection != nullptr ? selection->density : 1.0,
                         [call, selection] { return error_of(call, selection); }});
  }
  void add_int8(const std::string& name, Int8Values values, const BlockSelection* selection,
                const std::string& against) {
    Int8Arithmetic how;
    how.key_width = how.value_width = s_.head_dim;
    how.values = values;
    const AttentionCall call = f32_.call;
    variants_.push_back({name, [=] { int8_attention(call, selection, how); },
                         selection != nullptr ? selection->density : 1.0, [=] { return error_of(call, selection); },
                         against});
  }
  void add_masks() {
    mask_ = HostTensor({s_.queries, s_.keys}, DType::boolean);
    std::memset(mask_.as<std::uint8_t>(), 1, mask_.memory().size());
    bias_ = HostTensor({s_.queries, s_.keys}, DType::float32);
    fill(bias_, 4);
    padding_ = HostTensor({s_.batch, 1, 1, s_.keys}, DType::boolean);
    std::memset(padding_.as<std::uint8_t>(), 1, padding_.memory().size());
    AttentionCall masked = f32_.call;
    masked.attn_mask = mask_.view();
    add_exact("f32 bool mask", masked);
    masked.attn_mask = padding_.view();
    add_exact("f32 padding mask", masked);
    masked.attn_mask = bias_.view();
    add_exact("f32 additive mask", masked);
  }
  void add_selections() {
    third_ = random_selection(s_, 0.30);
    tenth_ = random_selection(s_, 0.10);
    add_exact("f32 kept .30", f32_.call, &third_);
    add_exact("f32 kept .10", f32_.call, &tenth_);
    add_int8("int8+int8 kept .30", Int8Values::int8, &third_, "int8+int8");
    add_int8("int8+int8 kept .10", Int8Values::int8, &tenth_, "int8+int8");
  }

  Shape s_;
  Operands f32_, bf16_, f16_;
  HostTensor mask_, bias_, padding_;
  BlockSelection third_, tenth_;
  std::vector<Variant> variants_;
  bool peers_ = false;
};

/// Takes this program's own words out of the command line; returns false and says why where one is wrong.
bool parse(int& argc, char** argv, Settings& settings) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      settings.quick = true;
    } else if (word == "--peers") {
      settings.peers = true;
    } else if (word == "--threads" && i + 1 < argc) {
      settings.threads.clear();
      for (const char* at = argv[++i]; *at != '\0'; ++at) {
        if (*at >= '1' && *at <= '9') settings.threads.push_back(*at - '0');
      }
    } else if (word == "--target" && i + 1 < argc) {
      std::int64_t found = 0;
      ++i;
      for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
        if (std::strcmp(hwy::TargetName(rest & -rest), argv[i]) == 0) found = rest & -rest;
      }
      if (found == 0) {
        std::fprintf(stderr, "--target %s: this processor has no such instruction set in Highway\n", argv[i]);
        return false;
      }
      hwy::DisableTargets(~found);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  bench::choose_blas_kernels(argv);
  if (!parse(argc, argv, settings)) return 2;
  char repetitions[] = "--benchmark_repetitions=3", interleaved[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> words{argv[0], repetitions, interleaved};
  words.insert(words.end(), argv + 1, argv + argc);
  int count = static_cast<int>(words.size());
  benchmark::Initialize(&count, words.data());
  if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;

  std::printf("exact kernel %s, INT8 kernel %s, bfloat16 scores %s\n", exact_tiles().name, int8_tiles().name,
              pairs_pay(exact_tiles()) ? "by pairs" : "widened");
  if (settings.peers) std::printf("peers: %s\n", bench::describe_peers().c_str());
  bench::KernelTable table;
  const double one = bench::fma_peak(1), two = bench::fma_peak(2);
  std::printf("fp32 multiply-add peak before: %.1f GFLOP/s on one thread, %.1f on two\n", 1e-9 * one, 1e-9 * two);
  for (const Shape& shape : kShapes) {
    Shape cut = shape;
    if (settings.quick) cut.heads = std::min<std::int64_t>(shape.heads, 4), cut.batch = 1;
    const std::string filter = benchmark::GetBenchmarkFilter();
    if (filter != "." && !filter.empty() && filter.find(shape.name) == std::string::npos) continue;
    Bench bench(cut, settings);
    for (const int threads : settings.threads) {
      bench.run(threads, threads == 1 ? std::max(one, bench::fma_peak(1)) : std::max(two, bench::fma_peak(threads)),
                table);
    }
  }
  const double one_after = bench::fma_peak(1), two_after = bench::fma_peak(2);
  std::printf("fp32 multiply-add peak after: %.1f GFLOP/s on one thread, %.1f on two\n", 1e-9 * one_after,
              1e-9 * two_after);
  if (std::min(two, two_after) < 1.8 * std::max(one, one_after)) {
    std::printf(
        "a core was missing: the two-thread peak is under 1.8 times the one-thread peak, so the two-thread "
        "figures say nothing\n");
  }
  return 0;
}
