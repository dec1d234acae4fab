// SPDX-License-Identifier: GPL-3.0-or-later
// What it costs a generation that the window shows every step of it: the bundled model's 128 x 128 pixels in 20 steps,
// run by the real window with and without its preview, in turns.
//   shown, hidden   medians of the generation's seconds
//   cost            median over the pairs of shown / hidden - 1
//   cost_cpu        the same with the processor time of the whole process, which other programs disturb less
#include "app/gui/picture_job.h"
#include "app/jobs/resources.h"
#include "ui/bench_window.h"

#include <benchmark/benchmark.h>

#include <QApplication>
#include <QEventLoop>
#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

using namespace attn;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A generation that nobody watches.
class HiddenJob final : public app::Job {
 public:
  HiddenJob(std::shared_ptr<app::ShapesModel> model, app::GenerationSettings settings)
      : model_(std::move(model)), settings_(std::move(settings)) {}
  [[nodiscard]] std::string title() const override { return "hidden"; }
  [[nodiscard]] Expected<app::JobOutcome> run(const app::JobEnvironment& environment) override {
    auto job = app::ShapesJob::make(model_, settings_);
    if (!job) return fail(job.error());
    return (*job)->run(environment);
  }

 private:
  std::shared_ptr<app::ShapesModel> model_;
  app::GenerationSettings settings_;
};

struct Seconds {
  double wall = 0.0;
  double cpu = 0.0;
};

Seconds run(app::GuiJobControl& jobs, std::unique_ptr<app::Job> job) {
  QEventLoop loop;
  Seconds seconds;
  QObject::connect(&jobs, &ui::JobControl::ended, &loop, [&](const ui::RunEnd& end) {
    seconds.wall = end.seconds;
    loop.quit();
  });
  const std::clock_t begin = std::clock();
  if (const auto started = jobs.start(std::move(job)); !started) qFatal("%s", started.error().c_str());
  loop.exec();
  seconds.cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return seconds;
}

void preview(benchmark::State& state) {
  ui::Theme theme;
  test::BenchWindow window(theme);
  auto shelf = std::make_shared<app::ModelShelf>(app::resource_path("models/shapes"));
  const auto model = shelf->take();
  if (!model) qFatal("%s", model.error().c_str());
  app::GuiJobControl& jobs = window.bench->jobs();
  ui::PictureRequest request = jobs.pictures().defaults();
  request.prompt = QStringLiteral("a large red circle left of a small blue star on a green background");
  const auto shown_job = [&] {
    auto job = jobs.pictures().job(request);
    if (!job) qFatal("%s", job.error().c_str());
    return *std::move(job);
  };
  const auto hidden_job = [&] { return std::make_unique<HiddenJob>(*model, app::generation_of(request)); };
  run(jobs, shown_job());  // reads the weights
  run(jobs, hidden_job());
  std::vector<double> shown, hidden, cost, cost_cpu;
  for (auto _ : state) {
    // Each goes first in turn, so that a machine that slows down or warms up favours neither.
    const bool first = shown.size() % 2 == 0;
    Seconds with, without;
    if (first) with = run(jobs, shown_job());
    without = run(jobs, hidden_job());
    if (!first) with = run(jobs, shown_job());
    shown.push_back(with.wall);
    hidden.push_back(without.wall);
    cost.push_back(with.wall / without.wall - 1.0);
    cost_cpu.push_back(with.cpu / without.cpu - 1.0);
  }
  state.counters["shown"] = median(shown);
  state.counters["hidden"] = median(hidden);
  state.counters["cost"] = median(cost);
  state.counters["cost_cpu"] = median(cost_cpu);
}
BENCHMARK(preview)->Iterations(15)->Unit(benchmark::kSecond);

}  // namespace

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
