// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/job_session.h"

#include <unistd.h>
#include <chrono>
#include <exception>
#include <iostream>

namespace attn::cli {

void JobSession::Observer::observe(const RouteRecord& record) noexcept {
  if (++since_drain_ >= ring_.capacity()) {
    collector_.drain();
    since_drain_ = 1;
  }
  ring_.push(trace::make_event(record));
}

JobSession::JobSession(Engine& engine, LogSink sink, bool log_routes)
    : engine_(engine), collector_(ring_, {log_routes, std::move(sink), {}}), observer_(ring_, collector_) {}

Expected<app::JobOutcome> JobSession::run(app::Job& job, std::stop_token stop,
                                          std::function<void(const app::JobProgress&)> progress) {
  const auto begin = std::chrono::steady_clock::now();
  collector_.begin_run();
  Expected<app::JobOutcome> outcome = fail("");
  try {
    outcome = job.run({engine_, &observer_, true, std::move(stop), std::move(progress)});
  } catch (const std::exception& thrown) {
    outcome = fail(std::string("the job broke off: ") + thrown.what());
  }
  clear_progress_line();
  collector_.end_generation();
  elapsed_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

std::function<void(const app::JobProgress&)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](const app::JobProgress& progress) {
    std::cerr << "\r\033[K" << progress.calls_done << "/" << progress.calls_total << " calls, "
              << name_of(progress.role) << " step " << progress.step << "/" << progress.steps;
    if (progress.seconds_left) std::cerr << ", " << seconds_text(*progress.seconds_left) << " left";
    std::cerr << std::flush;
  };
}

void clear_progress_line() {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace attn::cli
