// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/pipeline/attention_calls.h"
#include "app/jobs/pipeline/shapes_model.h"
#include "app/jobs/pipeline/workers.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace attn::app {

/// How much a generation has to do, for its progress.
struct WorkPlan {
  std::int64_t calls = 0;
  double work = 0.0;  ///< in any unit
};

/// A generation's attention: every call goes to the job's router. Counts calls, tells the progress, looks for a stop
/// before each call, and takes the time.
class RoutedCalls final : public AttentionCalls {
 public:
  /// `sites` null: the chain is asked on every call. Everything must outlive this object.
  RoutedCalls(JobScope& job, const JobEnvironment& environment, CompiledSites* sites, TimeLedger& times, DType dtype,
              WorkPlan plan);

  [[nodiscard]] bool serve(Role role, std::size_t site, const AttentionCall& call) override;
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] DType dtype() const override { return dtype_; }

  /// `work` more of the plan's is done.
  void done(double work) noexcept { work_done_ += work; }
  /// Tells the progress; at most about 30 times a second unless `now`.
  void report(bool now = false);
  [[nodiscard]] double elapsed_seconds() const;
  [[nodiscard]] std::optional<double> seconds_left() const;

  /// Asks for a stop too; true once the generation has to end.
  [[nodiscard]] bool has_to_end();
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// Why a call could not be served; empty when none failed.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;

  JobScope& job_;
  const JobEnvironment& environment_;
  CompiledSites* sites_;
  TimeLedger& times_;
  Device device_;
  DType dtype_;
  WorkPlan plan_;
  Clock::time_point begin_ = Clock::now();
  double sent_ = -1.0;
  std::int64_t calls_done_ = 0;
  double work_done_ = 0.0;
  bool stopped_ = false;
  std::string failure_;
};

}  // namespace attn::app
