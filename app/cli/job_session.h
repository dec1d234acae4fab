// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/chain_options.h"
#include "app/jobs/job.h"
#include "trace/collector.h"

#include <functional>
#include <memory>
#include <stop_token>

namespace attn::cli {

/// A progress line on stderr when that is a terminal; empty otherwise.
[[nodiscard]] std::function<void(const app::JobProgress&)> progress_line();
/// Takes the progress line away.
void clear_progress_line();

/// Runs jobs on the calling thread with a trace that loses nothing: when the ring fills, the observer drains it
/// before it goes on. (The window's job never waits; a table on the command line must be exact.)
class JobSession {
 public:
  JobSession(Engine& engine, LogSink sink, bool log_routes);

  /// Error: the job's sentence. The snapshot then holds what ran before.
  [[nodiscard]] Expected<app::JobOutcome> run(app::Job& job, std::stop_token stop,
                                              std::function<void(const app::JobProgress&)> progress = progress_line());
  [[nodiscard]] trace::TraceSnapshot snapshot() const { return collector_.snapshot(); }
  [[nodiscard]] double elapsed_seconds() const noexcept { return elapsed_; }

 private:
  class Observer final : public RouteObserver {
   public:
    Observer(trace::EventRing& ring, trace::Collector& collector) : ring_(ring), collector_(collector) {}
    void observe(const RouteRecord& record) noexcept override;

   private:
    trace::EventRing& ring_;
    trace::Collector& collector_;
    std::size_t since_drain_ = 0;
  };

  Engine& engine_;
  trace::EventRing ring_;
  trace::Collector collector_;
  Observer observer_;
  double elapsed_ = 0.0;
};

}  // namespace attn::cli
