// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/threads.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace attn::app {

ParallelFor on_all_threads() {
  return [](std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
    constexpr std::int64_t kRangesPerThread = 4;
    const auto threads = std::min(n, static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency())));
    const std::int64_t ranges = std::min(n, threads * kRangesPerThread);
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
      for (std::int64_t at = next.fetch_add(1); at < ranges; at = next.fetch_add(1)) {
        body(n * at / ranges, n * (at + 1) / ranges);
      }
    };
    std::vector<std::jthread> helpers;
    for (std::int64_t t = 1; t < threads; ++t) helpers.emplace_back(work);
    work();
  };
}

}  // namespace attn::app
