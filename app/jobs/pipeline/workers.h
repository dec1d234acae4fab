// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace attn::app {

/// Where a model's time goes, in seconds of wall clock.
struct WorkTime {
  double onednn = 0.0;     ///< matrix products, convolutions, norms, activations
  double attention = 0.0;  ///< calls that the router served
  double other = 0.0;      ///< rotary positions, root-mean-square norms, moving numbers, waiting for the slowest thread

  [[nodiscard]] double total() const noexcept { return onednn + attention + other; }
};

/// Adds up the time of each role. One thread writes.
class TimeLedger {
 public:
  [[nodiscard]] WorkTime& of(Role role) noexcept { return times_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] const WorkTime& of(Role role) const noexcept { return times_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] WorkTime sum() const noexcept;

 private:
  std::array<WorkTime, 5> times_{};
};

/// What one task of a parallel loop has: memory of its thread, and a clock for what it spends in oneDNN.
class Task {
 public:
  /// `floats` numbers, aligned to 64 bytes, of slot `slot`; the same memory for every task of a thread, so its content
  /// is what the last task left there.
  [[nodiscard]] float* memory(std::size_t slot, std::size_t floats);

  /// Calls work() and counts its time as oneDNN's.
  template <class Work>
  void in_onednn(Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    onednn_ += std::chrono::steady_clock::now() - begin;
  }
  [[nodiscard]] std::chrono::nanoseconds onednn() const noexcept { return onednn_; }

 private:
  std::chrono::nanoseconds onednn_{0};
};

/// The threads of one generation. Work is cut into tasks whose sizes do not depend on how many threads there are, and
/// a task runs on one thread from beginning to end: so the results do not depend on the threads either.
class Workers {
 public:
  /// `threads` 0, or more than the machine has: as many as it has.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] int threads() const noexcept;
  /// Calls work() with everything parallel in it, attention kernels too, on these threads only.
  void enter(const std::function<void()>& work);
  /// Calls body(index, task) for 0 .. count - 1 and returns when all are done. The time goes to `role` in times().
  void run(Role role, std::int64_t count, const std::function<void(std::int64_t, Task&)>& body);

  [[nodiscard]] TimeLedger& times() noexcept { return times_; }

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
  TimeLedger times_;
};

}  // namespace attn::app
