// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/lever_jobs.h"

#include <algorithm>
#include <utility>

namespace attn::app {
namespace {

/// The engine's settings in an engine of the job's own, so that nobody changes them meanwhile.
Expected<std::unique_ptr<Engine>> copy_of(const Engine& engine, bool draws) {
  return lever_engine(engine, all_variants(engine, draws).back());
}

/// What is measured, and the settings that it begins with.
struct Prepared {
  std::unique_ptr<LeverJob> job;
  std::unique_ptr<Engine> engine;
};
Expected<Prepared> prepare(const LeverJobFactory& make, const Engine& engine) {
  auto job = make();
  if (!job) return fail(job.error());
  auto copy = copy_of(engine, (*job)->draws());
  if (!copy) return fail(copy.error());
  return Prepared{*std::move(job), *std::move(copy)};
}

JobProgress shown(const LeverProgress& progress) {
  JobProgress out;
  out.calls_done = static_cast<std::int64_t>(progress.done);
  out.calls_total = static_cast<std::int64_t>(progress.total);
  out.elapsed_seconds = progress.elapsed_seconds;
  out.seconds_left = progress.seconds_left;
  return out;
}

/// Tells the window and whoever shows jobs.
std::function<void(const LeverProgress&)> teller(const JobEnvironment& environment,
                                                 const std::function<void(const LeverProgress&)>& own) {
  return [&environment, &own](const LeverProgress& progress) {
    own(progress);
    if (environment.progress) environment.progress(shown(progress));
  };
}

class MeasureJob final : public Job {
 public:
  explicit MeasureJob(LeverJobRequest request) : request_(std::move(request)) {}
  [[nodiscard]] std::string title() const override { return request_.title; }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    const auto prepared = prepare(request_.make, environment.engine);
    if (!prepared) return fail(prepared.error());
    const auto& [job, engine] = *prepared;
    LeverRun run;
    for (LeverVariant& variant : all_variants(*engine, job->draws())) {
      const bool wanted = std::find(request_.names.begin(), request_.names.end(), variant.name) != request_.names.end();
      if (wanted || variant.group == LeverGroup::baseline) run.variants.push_back(std::move(variant));
    }
    run.repeat = request_.repeat;
    run.before = std::move(request_.before);
    run.stop = environment.stop;
    run.progress = teller(environment, request_.progress);
    run.row_done = [this](const LeverResult& rows) -> Expected<void> {
      request_.rows(rows);
      return {};
    };
    const auto result = measure_levers(*job, *engine, run);
    if (!result) return fail(result.error());
    request_.rows(*result);
    return result->outcome;
  }

 private:
  LeverJobRequest request_;
};

class TuneJob final : public Job {
 public:
  explicit TuneJob(TuneJobRequest request) : request_(std::move(request)) {}
  [[nodiscard]] std::string title() const override { return request_.title; }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    const auto prepared = prepare(request_.make, environment.engine);
    if (!prepared) return fail(prepared.error());
    const auto& [job, engine] = *prepared;
    TuneRequest request = request_.request;
    if (request_.keep_what_is_set) request.fixed = explicit_keys(*engine);
    request.backends = all_overrides(*engine);
    request.stop = environment.stop;
    request.progress = teller(environment, request_.progress);
    const auto result = tune(*job, *engine, request);
    request_.done(result);
    if (!result) return fail(result.error());
    return result->outcome;
  }

 private:
  TuneJobRequest request_;
};

}  // namespace

OptionList all_overrides(const Engine& engine) {
  for (const OptionSpec& spec : engine.specs()) {
    if (spec.key == keys::overrides) return spec.choices;
  }
  return {};
}

std::vector<LeverVariant> all_variants(const Engine& engine, bool draws) {
  return lever_variants(engine, draws, all_overrides(engine));
}

std::unique_ptr<Job> make_measure_job(LeverJobRequest request) {
  return std::make_unique<MeasureJob>(std::move(request));
}

std::unique_ptr<Job> make_tune_job(TuneJobRequest request) { return std::make_unique<TuneJob>(std::move(request)); }

}  // namespace attn::app
