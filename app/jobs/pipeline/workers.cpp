// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/workers.h"

#include "core/tensor/host_buffer.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <atomic>
#include <vector>

// OpenMP's own call, declared here because compiling with OpenMP would turn on nothing else that is wanted.
extern "C" void omp_set_num_threads(int threads);

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

/// oneDNN of Debian runs on OpenMP: a thread that asks for one OpenMP thread stays alone, so its primitives do their
/// sums in one order and no second pool of threads spins beside oneTBB's.
void stay_alone() {
  thread_local bool asked = false;
  if (asked) return;
  omp_set_num_threads(1);
  asked = true;
}

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

WorkTime TimeLedger::sum() const noexcept {
  WorkTime all;
  for (const WorkTime& one : times_) {
    all.onednn += one.onednn;
    all.attention += one.attention;
    all.other += one.other;
  }
  return all;
}

float* Task::memory(std::size_t slot, std::size_t floats) {
  thread_local std::vector<HostBuffer> slots;
  if (slots.size() <= slot) slots.resize(slot + 1);
  if (slots[slot].size() < floats * sizeof(float)) slots[slot] = HostBuffer(floats * sizeof(float));
  return slots[slot].as<float>();
}

struct Workers::Arena {
  /// More threads than the machine has would only make oneTBB warn.
  explicit Arena(int threads)
      : arena(threads > 0 ? std::min(threads, tbb::info::default_concurrency()) : tbb::task_arena::automatic) {}
  tbb::task_arena arena;
};

Workers::Workers(int threads) : arena_(std::make_unique<Arena>(threads)) {}

Workers::~Workers() = default;

int Workers::threads() const noexcept { return arena_->arena.max_concurrency(); }

void Workers::enter(const std::function<void()>& work) {
  arena_->arena.execute([&work] {
    stay_alone();
    work();
  });
}

void Workers::run(Role role, std::int64_t count, const std::function<void(std::int64_t, Task&)>& body) {
  std::atomic<std::int64_t> busy{0};
  std::atomic<std::int64_t> onednn{0};
  const auto begin = Clock::now();
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, count, 1),
        [&](const tbb::blocked_range<std::int64_t>& range) {
          stay_alone();
          const auto from = Clock::now();
          Task task;
          for (std::int64_t at = range.begin(); at < range.end(); ++at) body(at, task);
          busy.fetch_add((Clock::now() - from).count(), std::memory_order_relaxed);
          onednn.fetch_add(task.onednn().count(), std::memory_order_relaxed);
        },
        tbb::simple_partitioner());
  });
  // The loop's wall clock is shared out as its threads' time was.
  const double wall = seconds(Clock::now() - begin);
  const double share = static_cast<double>(onednn.load()) / static_cast<double>(std::max<std::int64_t>(busy.load(), 1));
  times_.of(role).onednn += wall * share;
  times_.of(role).other += wall * (1.0 - share);
}

}  // namespace attn::app
