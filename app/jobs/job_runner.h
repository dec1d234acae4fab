// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace attn::app {

/// How a job ended.
struct JobEnd {
  JobOutcome outcome = JobOutcome::finished;
  std::string error;  ///< for failed
  double seconds = 0.0;
};

/// Runs one job at a time on a thread of its own. start(), stop() and running() may be called from any thread;
/// the callbacks come on the job's thread.
class JobRunner {
 public:
  struct Callbacks {
    std::function<void(const JobProgress&)> progress;
    std::function<void(const JobEnd&)> ended;  ///< exactly once per started job, with running() already false
  };
  JobRunner() = default;
  ~JobRunner();  ///< asks a running job to stop and waits for it
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  /// Refused with a sentence while a job runs.
  [[nodiscard]] Expected<void> start(std::unique_ptr<Job> job, Engine& engine, RouteObserver* observer, bool timing,
                                     Callbacks callbacks);
  void stop();
  [[nodiscard]] bool running() const;
  void wait();  ///< until no job runs

 private:
  mutable std::mutex mutex_;
  bool running_ = false;
  std::jthread thread_;
};

}  // namespace attn::app
