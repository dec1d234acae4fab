// SPDX-License-Identifier: GPL-3.0-or-later
// The host kernels on the shapes of real models, as a table: GFLOP/s and percent of the fp32 multiply-add peak, which
// is measured before and after in the same run. Variants of one shape run in turn, medians are taken, and a run whose
// two-thread peak is under 1.8 times its one-thread peak says that a core was missing.
//
//     kernels_bench [--threads 1,2] [--only WORD] [--rounds 5] [--quick]
#include "backends/all.h"
#include "backends/simd/exact_tiles.h"
#include "backends/simd/int8_tiles.h"
#include "core/tensor/host_buffer.h"
#include "fma_peak.h"

#include <tbb/global_control.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
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
};

/// One way to compute a shape.
struct Variant {
  std::string name;
  std::function<void()> run;
  double work = 1.0;  ///< share of the shape's FLOPs that is left
  std::vector<double> seconds{};
};

HostTensor random_tensor(std::initializer_list<std::int64_t> shape, DType dtype, unsigned seed) {
  HostTensor tensor(shape, dtype);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) store_element(tensor.view(), i, normal(random));
  return tensor;
}

/// The tensors of a shape and the calls on them.
struct Operands {
  explicit Operands(const Shape& s, DType dtype)
      : query(random_tensor({s.batch, s.heads, s.queries, s.head_dim}, dtype, 1)),
        key(random_tensor({s.batch, s.heads, s.keys, s.head_dim}, dtype, 2)),
        value(random_tensor({s.batch, s.heads, s.keys, s.head_dim}, dtype, 3)),
        output({s.batch, s.heads, s.queries, s.head_dim}, dtype) {
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Settings {
  std::vector<int> threads{1, 2};
  std::string only;
  int rounds = 5;
  bool quick = false;
};

void measure(const Shape& s, int threads, double peak, const Settings& settings) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  Operands f32(s, DType::float32);
  Operands bf16(s, DType::bfloat16);
  HostTensor mask({s.queries, s.keys}, DType::boolean);
  std::memset(mask.as<std::uint8_t>(), 1, mask.memory().size());
  AttentionCall masked = f32.call;
  masked.attn_mask = mask.view();
  HostTensor bias = random_tensor({s.queries, s.keys}, DType::float32, 4);
  AttentionCall biased = f32.call;
  biased.attn_mask = bias.view();
  Int8Arithmetic scores;
  scores.key_width = scores.value_width = s.head_dim;
  Int8Arithmetic both = scores;
  both.values = Int8Values::int8;
  const bool blocks = s.keys >= 4096 && s.head_dim == 128 && !s.causal;
  const BlockSelection third = random_selection(s, 0.30);
  const BlockSelection tenth = random_selection(s, 0.10);

  std::vector<Variant> variants;
  variants.push_back({"f32", [&] { exact_attention(f32.call, nullptr); }});
  variants.push_back({"bf16", [&] { exact_attention(bf16.call, nullptr); }});
  variants.push_back({"int8", [&] { int8_attention(f32.call, nullptr, scores); }});
  variants.push_back({"int8+int8", [&] { int8_attention(f32.call, nullptr, both); }});
  if (!s.causal) {
    variants.push_back({"f32 mask", [&] { exact_attention(masked, nullptr); }});
    variants.push_back({"f32 bias", [&] { exact_attention(biased, nullptr); }});
  }
  if (blocks) {
    variants.push_back({"f32 kept .30", [&] { exact_attention(f32.call, &third); }, third.density});
    variants.push_back({"f32 kept .10", [&] { exact_attention(f32.call, &tenth); }, tenth.density});
    variants.push_back({"int8+int8 kept .30", [&] { int8_attention(f32.call, &third, both); }, third.density});
    variants.push_back({"int8+int8 kept .10", [&] { int8_attention(f32.call, &tenth, both); }, tenth.density});
  }
  for (Variant& variant : variants) variant.run();
  for (int round = 0; round < settings.rounds; ++round) {
    for (Variant& variant : variants) variant.seconds.push_back(seconds_of(variant.run));
  }
  const double flops = flops_of(f32.call) * (s.causal ? 0.5 : 1.0);
  const double dense = median(variants.front().seconds);
  const double dense_int8 = median(variants[3].seconds);
  for (const Variant& variant : variants) {
    const double time = median(variant.seconds);
    const double rate = flops * variant.work / time;
    const bool int8 = variant.name.starts_with("int8+int8 kept");
    std::printf("%-8s %d  %-20s %9.1f ms %8.1f GFLOP/s %6.1f %% of peak   %.3f of dense %s\n", s.name, threads,
                variant.name.c_str(), 1e3 * time, 1e-9 * rate, 100.0 * rate / peak, time / (int8 ? dense_int8 : dense),
                int8 ? "int8+int8" : "f32");
  }
  std::fflush(stdout);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      settings.quick = true, settings.rounds = 3;
    else if (word == "--only" && i + 1 < argc)
      settings.only = argv[++i];
    else if (word == "--rounds" && i + 1 < argc)
      settings.rounds = std::max(1, std::atoi(argv[++i]));
    else if (word == "--threads" && i + 1 < argc) {
      settings.threads.clear();
      for (const char* at = argv[++i]; *at != '\0'; ++at) {
        if (*at >= '1' && *at <= '9') settings.threads.push_back(*at - '0');
      }
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  std::printf("exact tiles %s, INT8 tiles %s\n", exact_tiles().name, int8_tiles().name);
  const double one = bench::fma_peak(1);
  const double two = bench::fma_peak(2);
  std::printf("fp32 multiply-add peak before: %.1f GFLOP/s on one thread, %.1f on two\n", 1e-9 * one, 1e-9 * two);
  for (const Shape& shape : kShapes) {
    if (!settings.only.empty() && settings.only != shape.name) continue;
    Shape cut = shape;
    if (settings.quick) cut.heads = std::min<std::int64_t>(shape.heads, 4), cut.batch = 1;
    for (const int threads : settings.threads) {
      measure(cut, threads, threads == 1 ? std::max(one, bench::fma_peak(1)) : std::max(two, bench::fma_peak(2)),
              settings);
    }
  }
  const double one_after = bench::fma_peak(1);
  const double two_after = bench::fma_peak(2);
  std::printf("fp32 multiply-add peak after: %.1f GFLOP/s on one thread, %.1f on two\n", 1e-9 * one_after,
              1e-9 * two_after);
  if (std::min(two, two_after) < 1.8 * std::max(one, one_after)) {
    std::printf(
        "a core was missing: the two-thread peak is under 1.8 times the one-thread peak, so the two-thread "
        "figures say nothing\n");
  }
  return 0;
}
