// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/generate_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_session.h"
#include "app/cli/route_output.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/pipeline/picture_file.h"
#include "app/jobs/pipeline/picture_metrics.h"
#include "app/jobs/pipeline/picture_schedule.h"
#include "app/jobs/pipeline/png_file.h"
#include "app/jobs/pipeline/shapes_job.h"

#include <unistd.h>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

constexpr std::array<Role, 3> kRoles{Role::te, Role::transformer, Role::vae};

/// One line on a terminal that follows the steps.
class StepLine final : public app::GenerationObserver {
 public:
  void step_done(const app::GenerationStep& step) override {
    if (isatty(STDERR_FILENO) == 0) return;
    std::cerr << "\r\033[K" << (step.pass == 0 ? "step " : "second pass, step ") << step.step << "/" << step.steps
              << ", " << seconds_text(step.seconds) << " a step";
    if (step.seconds_left) std::cerr << ", " << seconds_text(*step.seconds_left) << " left";
    std::cerr << std::flush;
  }
  void finished(const app::GenerationResult&) override {}
};

std::string percent(double part, double whole) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.0f %%", whole > 0.0 ? 100.0 * part / whole : 0.0);
  return text.data();
}

Json time_json(const app::WorkTime& time) {
  return {{"seconds", time.total()}, {"onednn", time.onednn}, {"attention", time.attention}, {"other", time.other}};
}

Json times_json(const app::GenerationResult& result) {
  Json times;
  for (const Role role : kRoles) times[std::string(name_of(role))] = time_json(result.times.of(role));
  times["all"] = time_json(result.times.sum());
  return times;
}

void print_times(const app::GenerationResult& result) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](std::string name, const app::WorkTime& time) {
    rows.push_back({std::move(name), seconds_text(time.onednn), seconds_text(time.attention), seconds_text(time.other),
                    seconds_text(time.total())});
  };
  for (const Role role : kRoles) add(std::string(name_of(role)), result.times.of(role));
  const app::WorkTime all = result.times.sum();
  add("all", all);
  std::cout << "\n";
  print_table({"role", "oneDNN", "attention", "other", "time"}, rows, {1, 2, 3, 4});
  std::cout << "\n"
            << percent(all.onednn, result.seconds) << " in oneDNN, " << percent(all.attention, result.seconds)
            << " in attention; " << seconds_text(result.seconds) << " in all\n"
            << std::flush;
}

struct Answer {
  const GenerateOptions& options;
  const app::GenerationSettings& settings;
  const Engine& engine;
  const JobSession& session;
  std::optional<app::PictureDistance> distance{};  ///< from the picture of --against
  std::optional<app::MathForecast> math{};
  std::vector<app::RepeatRow> repeats{};
};

/// The picture of --against, checked before anything is computed. Error: one sentence.
Expected<std::optional<app::Picture>> read_baseline(const GenerateOptions& options,
                                                    const app::GenerationSettings& settings) {
  if (options.against.empty()) return std::optional<app::Picture>();
  const auto bytes = app::read_text(options.against);
  if (!bytes) return fail("--against " + options.against + ": " + bytes.error());
  auto picture = app::read_png(*bytes);
  if (!picture) return fail("--against " + options.against + ": " + picture.error());
  const std::int64_t width = settings.hires ? settings.hires->width : settings.width;
  const std::int64_t height = settings.hires ? settings.hires->height : settings.height;
  if (picture->width != width || picture->height != height) {
    return fail("--against " + options.against + " is " + std::to_string(picture->width) + "x" +
                std::to_string(picture->height) + "; the picture to draw is " + std::to_string(width) + "x" +
                std::to_string(height) + ", and only pictures of one size can be compared");
  }
  return std::optional(std::move(*picture));
}

Json distance_json(const app::PictureDistance& distance) {
  Json json{
      {"mean_squared_error", distance.mean_squared_error}, {"largest", distance.largest}, {"ssim", distance.ssim}};
  json["psnr"] = std::isinf(distance.psnr) ? Json() : Json(distance.psnr);
  json["equal"] = distance.largest == 0;
  return json;
}

void print_distance(const app::PictureDistance& distance, const std::string& name) {
  std::array<char, 96> text{};
  if (distance.largest == 0) {
    std::cout << "the same picture as " << name << ", bit for bit\n" << std::flush;
    return;
  }
  std::snprintf(text.data(), text.size(), "PSNR %.1f dB, SSIM %.4f, largest difference %d of 255", distance.psnr,
                distance.ssim, distance.largest);
  std::cout << "against " << name << ": " << text.data() << "\n" << std::flush;
}

void print_answer(const Answer& answer, const std::string& title, const Expected<app::JobOutcome>& outcome,
                  const std::optional<app::GenerationResult>& result) {
  const std::shared_ptr<const Plan> plan = answer.engine.plan();
  JobReport report;
  report.title = title;
  report.chain = plan->chain();
  report.target = plan->target().name;
  report.emulated = !plan->target().present;
  report.computed = true;
  report.outcome = std::string(app::name_of(outcome ? *outcome : app::JobOutcome::failed));
  if (!outcome) report.error = outcome.error();
  report.elapsed_seconds = answer.session.elapsed_seconds();
  report.math = answer.math;
  report.repeats = answer.repeats;
  report.sparse = app::sparse_headline(answer.engine.registry(), *plan, answer.session.snapshot());
  if (!answer.options.chain.json) {
    print_routes(report, answer.session.snapshot());
    if (result) print_times(*result);
    if (answer.distance) print_distance(*answer.distance, answer.options.against);
    return;
  }
  Json json = route_json(report, answer.session.snapshot());
  json["output"] = result ? Json(answer.options.output) : Json();
  json["generation"] = app::to_json(answer.settings);
  if (result) {
    json["image_tokens"] = result->image_tokens;
    json["step_seconds"] = result->step_seconds;
    json["generation_seconds"] = result->seconds;
    json["times"] = times_json(*result);
    if (answer.distance) json["against"] = distance_json(*answer.distance);
  }
  print(json);
}

int generate(GenerateOptions options) {
  const auto asked = read_generate(options);
  if (!asked) return say(Exit::wrong, asked.error());
  if (auto writable = check_output(options.output); !writable) return say(Exit::wrong, writable.error());
  const auto baseline = read_baseline(options, asked->generation);
  if (!baseline) return say(Exit::wrong, baseline.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const Interrupt interrupt;
  const auto engine = make_generate_engine(options, *asked, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto required = read_requirements((*engine)->registry(), options.chain.require);
  if (!required) return say(Exit::wrong, required.error());
  const auto model = app::ShapesModel::load(options.model.empty() ? app::ShapesModel::bundled()
                                                                  : std::filesystem::path(options.model));
  if (!model) return say(Exit::wrong, model.error());
  StepLine line;
  const auto job = app::ShapesJob::make(*model, asked->generation, &line, options.threads);
  if (!job) return say(Exit::wrong, job.error());
  const app::CallSchedule schedule = app::picture_schedule(asked->generation, (*model)->config());
  if (const std::string unmet = app::first_unmet(schedule, *required, **engine); !unmet.empty()) {
    return say(Exit::failed, unmet);
  }
  const std::optional<app::MathForecast> math = app::math_forecast(**engine, schedule);
  if (math) say(Exit::done, math->sentence((*engine)->plan()->target()));
  JobSession session(**engine, *sink, traces_routes(options.chain));
  const auto outcome = session.run(**job, interrupt.token(), {});
  const auto& result = (*job)->result();
  if (result) {
    const auto saved = app::save_picture(options.output, result->picture,
                                         app::settings_of(asked->generation, options.chain.target, **engine));
    if (!saved) return say(Exit::failed, saved.error());
  }
  Answer answer{options, asked->generation, **engine, session};
  answer.math = math;
  if (result && *baseline) {
    const auto compared = app::distance_of(**baseline, result->picture);
    if (!compared) return say(Exit::failed, compared.error());
    answer.distance = *compared;
  }
  if (result && options.repeat.wanted()) {
    auto repeats =
        app::repeat_calls(schedule, **engine, options.repeat.runs, asked->generation.seed, interrupt.token());
    if (!repeats) return say(Exit::failed, repeats.error());
    answer.repeats = *std::move(repeats);
  }
  print_answer(answer, (*job)->title(), outcome, result);
  if (!outcome) return say(Exit::failed, outcome.error());
  if (const std::string unmet = options.repeat.unmet(answer.repeats); !unmet.empty()) return say(Exit::failed, unmet);
  if (*outcome == app::JobOutcome::stopped) return say(Exit::failed, "stopped; no picture was written");
  return Exit::done;
}

}  // namespace

void add_generate(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("generate", "A picture by the bundled model, every attention call routed");
  auto options = std::make_shared<GenerateOptions>();
  options->add(*sub);
  sub->footer(
      "The model draws one or two coloured shapes: \"a large red circle left of a small blue star on a green\n"
      "background\". The settings are kept inside the PNG, and --from takes them back; what is given beside --from\n"
      "wins. The same seed and settings give the same picture, whatever the number of threads.");
  sub->callback([options, &command] { command = [options] { return generate(*options); }; });
}

}  // namespace attn::cli
