// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_options.h"
#include "app/cli/job_session.h"
#include "app/cli/repeat_options.h"
#include "app/cli/route_output.h"
#include "app/cli/run_tensors.h"
#include "app/jobs/profile/math_forecast.h"

#include <algorithm>
#include <memory>

namespace attn::cli {
namespace {

struct RunOptions {
  ChainOptions chain;
  JobOptions job;
  std::string compute = "representatives";
  bool compiled = false;
  RepeatOptions repeat;
  TensorsOptions tensors;
};

app::Compute compute_of(const std::string& name) {
  if (name == "none") return app::Compute::none;
  return name == "all" ? app::Compute::all : app::Compute::representatives;
}

/// What the dispatcher does for each role that the job has calls of.
std::vector<std::pair<Role, Explanation::Dispatch>> decisions_of(const Engine& engine,
                                                                 const std::vector<app::DistinctCall>& calls) {
  std::vector<std::pair<Role, Explanation::Dispatch>> decisions;
  for (const app::DistinctCall& one : calls) {
    const bool known = std::any_of(decisions.begin(), decisions.end(),
                                   [&one](const auto& decision) { return decision.first == one.role; });
    if (!known && one.times > 0) decisions.emplace_back(one.role, engine.explain(one.call, one.role, 0).dispatch);
  }
  return decisions;
}

int run_schedule(const RunOptions& options, app::Compute compute, const Expected<app::ProfileLibrary>& library) {
  auto schedule = read_job(options.job, library);
  if (!schedule) return say(Exit::wrong, schedule.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const Interrupt interrupt;
  const auto engine = make_engine(options.chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto required = read_requirements((*engine)->registry(), options.chain.require);
  if (!required) return say(Exit::wrong, required.error());
  if (const std::string unmet = app::first_unmet(*schedule, *required, **engine); !unmet.empty()) {
    return say(Exit::failed, unmet);
  }
  const std::optional<app::MathForecast> math = app::math_forecast(**engine, *schedule);
  if (math) say(Exit::done, math->sentence((*engine)->plan()->target()));
  const std::vector<app::DistinctCall> distinct = schedule->distinct;
  const app::CallSchedule to_repeat = options.repeat.wanted() ? *schedule : app::CallSchedule{};
  const auto job = app::make_schedule_job(*std::move(schedule), compute, options.job.seed, options.compiled);
  JobSession session(**engine, *sink, traces_routes(options.chain));
  const auto outcome = session.run(*job, interrupt.token());

  JobReport report;
  report.title = job->title();
  report.chain = (*engine)->plan()->chain();
  report.target = (*engine)->plan()->target().name;
  report.emulated = !(*engine)->plan()->target().present;
  report.computed = compute != app::Compute::none;
  report.measured_once = compute == app::Compute::representatives;
  report.outcome = std::string(app::name_of(outcome ? *outcome : app::JobOutcome::failed));
  if (!outcome) report.error = outcome.error();
  report.elapsed_seconds = session.elapsed_seconds();
  report.math = math;
  if (options.repeat.wanted() && outcome) {
    auto repeats = app::repeat_calls(to_repeat, **engine, options.repeat.runs, options.job.seed, interrupt.token());
    if (!repeats) return say(Exit::failed, repeats.error());
    report.repeats = *std::move(repeats);
  }
  report.attention = decisions_of(**engine, distinct);
  report.sparse = app::sparse_headline((*engine)->registry(), *(*engine)->plan(), session.snapshot());
  if (options.chain.json) {
    print(route_json(report, session.snapshot()));
  } else if (outcome || session.snapshot().calls > 0) {
    print_routes(report, session.snapshot());
  }
  if (!outcome) return say(Exit::failed, outcome.error());
  if (const std::string unmet = options.repeat.unmet(report.repeats); !unmet.empty()) {
    return say(Exit::failed, unmet);
  }
  if (*outcome == app::JobOutcome::stopped) return say(Exit::failed, "stopped; the table holds what ran before");
  return Exit::done;
}

std::string job_help() {
  return "A model is named as `attnctl models` lists it, with its inputs as options: flux.1-dev --width 1024 --height "
         "1024\n"
         "--steps 20. A call is written as `attnctl explain --help` shows.";
}

}  // namespace

void add_plan(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs) {
  CLI::App* sub = program.add_subcommand("plan", "The routes of a job, without computing: milliseconds");
  auto options = std::make_shared<RunOptions>();
  options->job.add(*sub, with_inputs && profiles() ? &*profiles() : nullptr);
  options->chain.add_chain(*sub);
  sub->footer(job_help());
  sub->callback([options, profiles, &command] {
    command = [options, profiles] { return run_schedule(*options, app::Compute::none, profiles()); };
  });
}

void add_run(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs) {
  CLI::App* sub = program.add_subcommand("run", "The routes of a job, computed and timed");
  auto options = std::make_shared<RunOptions>();
  options->job.add(*sub, with_inputs && profiles() ? &*profiles() : nullptr);
  sub->add_option("--compute", options->compute,
                  "representatives: one call of each route, its time multiplied out; all: every call; none: as plan")
      ->check(CLI::IsMember({"representatives", "all", "none"}))
      ->capture_default_str();
  sub->add_flag(
      "--compiled", options->compiled,
      "Choose routes once per call site; with --compute all a GPU records a forward's calls and runs them as one");
  options->repeat.add(*sub);
  options->tensors.add(*sub);
  options->chain.add_chain(*sub);
  sub->footer(
      job_help() +
      "\nWith --tensors, JOB is what the file does not say: causal, gqa, scale=0.1, role=te, step=3/20. The file\n"
      "holds q, k, v (or query, key, value) and perhaps mask (or attn_mask); k defaults to q, v to k.");
  sub->callback([options, profiles, &command] {
    command = [options, profiles] {
      if (!options->tensors.file.empty()) return run_tensors(options->tensors, options->job, options->chain);
      if (!options->tensors.output.empty())
        return say(Exit::wrong, "-o writes the output of --tensors; name a file there");
      return run_schedule(*options, compute_of(options->compute), profiles());
    };
  });
}

}  // namespace attn::cli
