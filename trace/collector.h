// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/log.h"
#include "trace/calls/call_log.h"
#include "trace/event/data_facts.h"
#include "trace/event/event_ring.h"
#include "trace/routes/route_table.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace attn::trace {

/// The observer that feeds a ring. Belongs to the router's thread.
class RingObserver final : public RouteObserver {
 public:
  enum class Data { leave, look };
  /// `look` reads masks and computed outputs once a call, after the call's time was taken: for their patterns, NaN
  /// and Inf.
  explicit RingObserver(EventRing& ring, Data data = Data::leave) noexcept : ring_(ring), data_(data) {}
  void observe(const RouteRecord& record) noexcept override {
    RouteEvent event = make_event(record);
    if (data_ == Data::look) look_at_data(record, event);
    ring_.push(event);
  }

 private:
  EventRing& ring_;
  Data data_;
};

/// Drains a ring into a route table on a thread of its own and hands out snapshots. Every member may be called from
/// any thread, but the borders belong to the thread that runs the job.
///
/// The generation's borders come from the job's thread: begin_run(), end_generation() and reset_routes() first
/// drain what was pushed before them, so that counts belong to the right generation whatever the timing.
class Collector {
 public:
  struct Options {
    bool log_routes = false;  ///< SD_ATTN_DEBUG: write routes and end-of-generation counts to `sink`
    /// Called on the collector's thread or on the one that calls drain() or a border, one line at a time. It must
    /// not throw and must not call drain() or a border; snapshot() is fine.
    LogSink sink;
    /// There is a new snapshot; at most 60 times a second; collector's thread. Must not throw or destroy the
    /// collector.
    std::function<void()> on_change{};
    std::size_t keep_calls = 0;  ///< how many single calls of a run calls() has; see CallLog for the memory
  };
  Collector(EventRing& ring, Options options);
  ~Collector();  ///< drains what is left and stops the thread
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Takes everything out of the ring now, on the caller's thread. Any thread.
  void drain();
  /// A new run in view: routes, counts, shares and drops start from nothing.
  void begin_run();
  /// Logs the counts, busiest first (when log_routes), and starts counting anew for the log. The snapshot keeps
  /// the finished run until begin_run().
  void end_generation();
  /// A chain rebuild: the log forgets which routes it has shown.
  void reset_routes();

  /// What has been drained so far. Its revision only grows, over all runs.
  [[nodiscard]] TraceSnapshot snapshot() const;
  /// The single calls of what snapshot() counts, up to Options::keep_calls.
  [[nodiscard]] CallView calls() const;

 private:
  using Clock = std::chrono::steady_clock;
  void loop();
  void drain_locked();  ///< with drain_mutex_ held
  void log(std::string text) const;
  void tell_when_changed(Clock::time_point& last_told, std::uint64_t& told_revision) const;
  [[nodiscard]] std::uint64_t revision() const;

  EventRing& ring_;
  const Options options_;

  std::mutex drain_mutex_;  ///< whoever holds it is the ring's one consumer and the log's one writer
  std::vector<RouteEvent> batch_;
  RouteTable log_table_;  ///< what the log has shown and counts

  mutable std::mutex mutex_;  ///< taken inside drain_mutex_, never around it
  RouteTable run_table_;      ///< what the window shows
  CallLog call_log_;
  std::uint64_t dropped_before_run_ = 0;
  std::condition_variable wake_;
  bool stop_ = false;
  bool run_began_ = false;  ///< the thread is to look often again
  std::thread thread_;
};

}  // namespace attn::trace
