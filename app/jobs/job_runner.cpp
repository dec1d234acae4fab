// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/job_runner.h"

#include <chrono>
#include <exception>
#include <utility>

namespace attn::app {
namespace {

JobEnd run_to_end(Job& job, const JobEnvironment& environment) {
  const auto begin = std::chrono::steady_clock::now();
  JobEnd end;
  try {
    const Expected<JobOutcome> outcome = job.run(environment);
    end.outcome = outcome ? *outcome : JobOutcome::failed;
    if (!outcome) end.error = outcome.error();
  } catch (const std::exception& thrown) {  // no exception crosses the thread's border
    end.outcome = JobOutcome::failed;
    end.error = std::string("the job broke off: ") + thrown.what();
  }
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return end;
}

}  // namespace

std::string_view name_of(JobOutcome outcome) noexcept {
  switch (outcome) {
    case JobOutcome::finished:
      return "finished";
    case JobOutcome::stopped:
      return "stopped";
    case JobOutcome::failed:
      return "failed";
  }
  return "failed";
}

JobRunner::~JobRunner() {
  stop();
  wait();
}

Expected<void> JobRunner::start(std::unique_ptr<Job> job, Engine& engine, RouteObserver* observer, bool timing,
                                Callbacks callbacks) {
  std::jthread finished;  // joined after the lock is gone: its last callback may ask running()
  const std::lock_guard lock(mutex_);
  if (running_) return fail("a job is running; stop it or wait for its end before starting another");
  finished = std::exchange(thread_, {});
  running_ = true;
  thread_ = std::jthread(
      [this, job = std::move(job), &engine, observer, timing, callbacks = std::move(callbacks)](std::stop_token stop) {
        const JobEnd end = run_to_end(*job, {engine, observer, timing, std::move(stop), callbacks.progress});
        {
          const std::lock_guard inner(mutex_);
          running_ = false;
        }
        if (callbacks.ended) callbacks.ended(end);
      });
  return {};
}

void JobRunner::stop() {
  const std::lock_guard lock(mutex_);
  thread_.request_stop();
}

bool JobRunner::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void JobRunner::wait() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    // A callback that waits for its own thread would wait for ever.
    if (thread_.get_id() == std::this_thread::get_id()) return;
    thread = std::exchange(thread_, {});
  }
  if (thread.joinable()) thread.join();
}

}  // namespace attn::app
