// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/repeat_job.h"

#include <utility>

namespace attn::app {
namespace {

constexpr int kRuns = 3;

class RepeatJob final : public Job {
 public:
  RepeatJob(CallSchedule schedule, std::function<void(const Expected<std::vector<RepeatRow>>&)> done)
      : schedule_(std::move(schedule)), done_(std::move(done)) {}

  [[nodiscard]] std::string title() const override {
    return schedule_.title + ", each call " + std::to_string(kRuns) + " times";
  }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    const auto rows = repeat_calls(schedule_, environment.engine, kRuns, 0, environment.stop);
    done_(rows);
    if (!rows) return fail(rows.error());
    JobProgress progress;
    for (const RepeatRow& row : *rows) progress.calls_done += row.runs;
    progress.calls_total = static_cast<std::int64_t>(schedule_.distinct.size()) * kRuns;
    if (environment.progress) environment.progress(progress);
    return environment.stop.stop_requested() ? JobOutcome::stopped : JobOutcome::finished;
  }

 private:
  CallSchedule schedule_;
  std::function<void(const Expected<std::vector<RepeatRow>>&)> done_;
};

}  // namespace

std::unique_ptr<Job> make_repeat_job(CallSchedule schedule,
                                     std::function<void(const Expected<std::vector<RepeatRow>>&)> done) {
  return std::make_unique<RepeatJob>(std::move(schedule), std::move(done));
}

}  // namespace attn::app
