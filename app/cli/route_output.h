// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/program.h"
#include "app/jobs/compare/repeat.h"
#include "app/jobs/job.h"
#include "app/jobs/profile/math_forecast.h"
#include "app/jobs/sparse/headline.h"
#include "trace/routes/route_table.h"

namespace attn::cli {

/// How a job ended, for its table.
struct JobReport {
  std::string title;
  std::string chain;
  std::string target;
  bool emulated = true;
  bool computed = false;
  bool measured_once = false;  ///< representatives: one measured call stands for all of its route
  std::string outcome = "finished";
  std::string error;
  double elapsed_seconds = 0.0;
  app::SparseHeadline sparse;
  std::optional<app::MathForecast> math;
  std::vector<app::RepeatRow> repeats;                            ///< of --repeat
  std::vector<std::pair<Role, Explanation::Dispatch>> attention;  ///< by role, as the job has them
};

/// `plan` and `run`: chain, target, calls, routes, dropped_events, and how the job ended.
[[nodiscard]] Json route_json(const JobReport& report, const trace::TraceSnapshot& snapshot);
void print_routes(const JobReport& report, const trace::TraceSnapshot& snapshot);

/// Seconds of all calls of a row: measured ones, with those that were only counted at their mean.
[[nodiscard]] double total_seconds(const trace::RouteRow& row);

}  // namespace attn::cli
