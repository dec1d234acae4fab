// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <algorithm>
#include <atomic>
#include <thread>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#endif

namespace attn {

/// Calls body(begin, end) for pieces of [0, count) on several threads and returns when all are done. `grain` is the
/// size of a piece; 0: as oneTBB likes them.
template <class Body>
void parallel_range(std::int64_t count, std::int64_t grain, const Body& body) {
#if defined(__SANITIZE_THREAD__)
  // Debian's oneTBB is built without the thread sanitizer, which then takes what its threads hand over for races. On
  // threads of the standard library it sees all of it, so that what it reports of a body is a race.
  std::atomic<std::int64_t> next{0};
  const std::int64_t step = std::max<std::int64_t>(grain, 1);
  const auto work = [&] {
    for (std::int64_t at = next.fetch_add(step); at < count; at = next.fetch_add(step)) {
      body(at, std::min(at + step, count));
    }
  };
  const std::jthread other(work);
  work();
#else
  const auto piece = [&](const tbb::blocked_range<std::int64_t>& range) { body(range.begin(), range.end()); };
  if (grain == 0) {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count), piece);
  } else {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), piece, tbb::simple_partitioner());
  }
#endif
}

}  // namespace attn
