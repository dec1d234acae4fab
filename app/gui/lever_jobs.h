// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/levers/levers.h"
#include "app/jobs/tune/tune.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attn::app {

/// Every override backend that there is, whatever is switched on.
[[nodiscard]] OptionList all_overrides(const Engine& engine);
/// Every variant with any of them.
[[nodiscard]] std::vector<LeverVariant> all_variants(const Engine& engine, bool draws);

/// Makes what is measured, on the job's thread: reading a model takes a while.
using LeverJobFactory = std::function<Expected<std::unique_ptr<LeverJob>>()>;

/// What a job that measures levers is asked, and whom it tells. The callbacks come on the job's thread.
struct LeverJobRequest {
  std::string title;
  LeverJobFactory make;
  std::vector<std::string> names;  ///< of the variants; the baseline always is among them
  int repeat = 3;
  LeverResult before;
  std::function<void(const LeverResult&)> rows;
  std::function<void(const LeverProgress&)> progress;
};
/// Measures in engines of its own, beginning with the environment's settings as they are when it starts.
[[nodiscard]] std::unique_ptr<Job> make_measure_job(LeverJobRequest request);

struct TuneJobRequest {
  std::string title;
  LeverJobFactory make;
  TuneRequest request;  ///< without stop and progress
  bool keep_what_is_set = true;
  std::function<void(const Expected<TuneResult>&)> done;
  std::function<void(const LeverProgress&)> progress;
};
[[nodiscard]] std::unique_ptr<Job> make_tune_job(TuneJobRequest request);

}  // namespace attn::app
