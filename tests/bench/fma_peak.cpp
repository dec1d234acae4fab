// SPDX-License-Identifier: GPL-3.0-or-later
#include "fma_peak.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cpp"
#include <hwy/foreach_target.h>
// Highway asks for this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `rounds` times 12 independent multiply-adds; returns the operations done. `sink` keeps them from being left out.
double SpinFma(long rounds, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kChains = 12;
  V sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, static_cast<float>(i));
  const V factor = hn::Set(d, 0.999F);
  const V added = hn::Set(d, 0.001F);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], factor, added);
  }
  V total = hn::Zero(d);
  for (int i = 0; i < kChains; ++i) total = hn::Add(total, sum[i]);
  *sink = hn::GetLane(total);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace attn::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::bench {

HWY_EXPORT(SpinFma);

namespace {

using Clock = std::chrono::steady_clock;

struct Span {
  Clock::time_point begin, end;
  double operations = 0.0;
};

}  // namespace

double fma_peak(int threads) {
  // Long enough for a scheduler that starts both threads on one core to move one of them.
  constexpr long kRounds = 10'000'000;
  constexpr int kTries = 8;
  std::vector<Span> spans(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  double best = 0.0;
  for (int i = 0; i < kTries; ++i) {
    {
      std::vector<std::jthread> workers;
      for (Span& span : spans) {
        workers.emplace_back([&start, &span] {
          float sink = 0.0F;
          start.arrive_and_wait();
          span.begin = Clock::now();
          span.operations = HWY_DYNAMIC_DISPATCH(SpinFma)(kRounds, &sink);
          span.end = Clock::now();
        });
      }
    }
    Clock::time_point first = spans.front().begin, last = spans.front().end;
    double total = 0.0;
    for (const Span& span : spans) {
      first = std::min(first, span.begin);
      last = std::max(last, span.end);
      total += span.operations;
    }
    best = std::max(best, total / std::chrono::duration<double>(last - first).count());
  }
  return best;
}

}  // namespace attn::bench
#endif
