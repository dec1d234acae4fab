// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/log.h"
#include "trace/event/event_ring.h"
#include "trace/routes/route_table.h"

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
  explicit RingObserver(EventRing& ring) noexcept : ring_(ring) {}
  void observe(const RouteRecord& record) noexcept override { ring_.push(make_event(record)); }

 private:
  EventRing& ring_;
};

/// Drains a ring into a route table on a thread of its own and hands out snapshots.
///
/// The generation's borders come from the job's thread: begin_run(), end_generation() and reset_routes() first
/// drain what was pushed before them, so that counts belong to the right generation whatever the timing.
class Collector {
 public:
  struct Options {
    bool log_routes = false;  ///< SD_ATTN_DEBUG: write routes and end-of-generation counts to `sink`
    LogSink sink;             ///< called on the collector's thread or on the one that calls the borders
    std::function<void()> on_change;  ///< there is a new snapshot; at most 60 times a second; collector's thread
  };
  Collector(EventRing& ring, Options options);
  ~Collector();  ///< drains what is left and stops the thread
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Takes everything out of the ring now, on the caller's thread. Any thread.
  void drain();
  /// A new run in view: routes, counts and shares start from nothing.
  void begin_run();
  /// Logs the counts, busiest first (when log_routes), and starts counting anew for the log. The snapshot keeps
  /// the finished run until begin_run().
  void end_generation();
  /// A chain rebuild: the log forgets which routes it has shown.
  void reset_routes();

  [[nodiscard]] TraceSnapshot snapshot() const;

 private:
  void loop();
  void drain_locked();

  EventRing& ring_;
  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  RouteTable log_table_;  ///< what the log has shown and counts
  RouteTable run_table_;  ///< what the window shows
  std::vector<RouteEvent> batch_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace attn::trace
