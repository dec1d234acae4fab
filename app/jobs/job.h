// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace attn::app {

/// Where a job is. Sent from the job's thread, at most about 30 times a second and once at the end.
struct JobProgress {
  std::int64_t calls_done = 0;
  std::int64_t calls_total = 0;
  Role role = Role::none;
  std::int32_t step = 0;
  std::int32_t steps = 0;
  double elapsed_seconds = 0.0;
  std::optional<double> seconds_left;  ///< absent until there is something to judge by
};

enum class JobOutcome : std::uint8_t { finished, stopped, failed };
[[nodiscard]] std::string_view name_of(JobOutcome outcome) noexcept;  ///< "finished", "stopped", "failed"

/// What a job may use while it runs.
struct JobEnvironment {
  Engine& engine;
  RouteObserver* observer = nullptr;  ///< may be null
  bool timing = true;
  std::stop_token stop;
  std::function<void(const JobProgress&)> progress;  ///< may be empty
};

/// Something that makes attention calls through the router. run() works on the calling thread and returns
/// stopped soon after a stop was asked for, between two calls.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /// "FLUX.1 dev 1024 x 1024, 28 steps, planned"
  [[nodiscard]] virtual std::string title() const = 0;
  /// Error: a sentence; the engine and its gate are usable afterwards.
  [[nodiscard]] virtual Expected<JobOutcome> run(const JobEnvironment& environment) = 0;
};

}  // namespace attn::app
