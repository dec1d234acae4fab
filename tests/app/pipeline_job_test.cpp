// SPDX-License-Identifier: GPL-3.0-or-later
// A generation as a job: what the trace sees of it, that it stops, and what its picture depends on.
#include "app/jobs/pipeline/picture_schedule.h"
#include "app/jobs/pipeline/shapes_job.h"
#include "support/oracle.h"
#include "support/shapes.h"
#include "support/tiny_shapes.h"

#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <map>
#include <set>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

constexpr const char* kShort = "a red circle on a blue background";

/// Keeps what was routed. Calls are never more than a few hundred here.
class Recorder final : public RouteObserver {
 public:
  struct Seen {
    Role role;
    std::int32_t step;
    std::vector<std::int64_t> query;
    bool masked;
    bool on_cpu;
    bool computed;
    std::string backend;
  };
  void observe(const RouteRecord& record) noexcept override {
    const auto sizes = record.call.query.sizes();
    seen.push_back({record.role,
                    record.step,
                    {sizes.begin(), sizes.end()},
                    record.call.attn_mask.has_value(),
                    record.call.query.device.is_cpu(),
                    record.computed,
                    std::string(record.executed)});
    if (after_call) after_call(seen.size());
  }
  [[nodiscard]] std::vector<Seen> of(Role role) const {
    std::vector<Seen> chosen;
    std::copy_if(seen.begin(), seen.end(), std::back_inserter(chosen),
                 [role](const Seen& s) { return s.role == role; });
    return chosen;
  }
  [[nodiscard]] std::vector<int> steps_of(Role role) const {
    std::vector<int> steps;
    for (const Seen& one : of(role)) steps.push_back(one.step);
    return steps;
  }
  std::vector<Seen> seen;
  std::function<void(std::size_t)> after_call;
};

class Watcher final : public GenerationObserver {
 public:
  void step_done(const GenerationStep& step) override { steps.push_back(step); }
  void finished(const GenerationResult& result) override { results.push_back(result); }
  std::vector<GenerationStep> steps;
  std::vector<GenerationResult> results;
};

GenerationSettings small() {
  GenerationSettings settings;
  settings.prompt = kShort;
  settings.width = 64;
  settings.height = 64;
  settings.steps = 3;
  settings.seed = 11;
  return settings;
}

std::vector<int> each(int steps, int times) {
  std::vector<int> all;
  for (int step = 0; step < steps; ++step) all.insert(all.end(), static_cast<std::size_t>(times), step);
  return all;
}

}  // namespace

class PipelineJobTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::shared_ptr<ShapesModel> model_;
  std::unique_ptr<Engine> engine_;

  struct Run {
    Expected<JobOutcome> outcome = fail("");
    std::optional<GenerationResult> result;
    std::vector<JobProgress> progress;
  };
  Run run(const GenerationSettings& settings, RouteObserver* observer = nullptr, GenerationObserver* watcher = nullptr,
          int threads = 0, std::stop_token stop = {}) {
    auto job = ShapesJob::make(model_, settings, watcher, threads);
    if (!job) qFatal("%s", job.error().c_str());
    Run run;
    run.outcome = (*job)->run(
        {*engine_, observer, true, std::move(stop), [&](const JobProgress& p) { run.progress.push_back(p); }});
    if (!run.outcome) qWarning("%s", run.outcome.error().c_str());
    run.result = (*job)->result();
    return run;
  }

 private slots:
  void initTestCase() {
    test::TinyShapes::write(folder_.path());
    auto model = ShapesModel::load(folder_.path().toStdString());
    if (!model) qFatal("%s", model.error().c_str());
    model_ = *std::move(model);
  }
  void init() { engine_ = test::engine_for("cpu"); }

  void a_picture_comes_out_and_its_step_times_with_it() {
    Watcher watcher;
    const Run done = run(small(), nullptr, &watcher);
    QVERIFY(done.outcome == JobOutcome::finished);
    QVERIFY(done.result.has_value());
    QCOMPARE(done.result->picture.width, std::int64_t{64});
    QCOMPARE(done.result->picture.rgb.size(), std::size_t{64 * 64 * 3});
    QCOMPARE(std::set<int>(done.result->picture.rgb.begin(), done.result->picture.rgb.end()).size() > 10, true);
    QCOMPARE(done.result->step_seconds.size(), std::size_t{3});
    QCOMPARE(watcher.results.size(), std::size_t{1});
    QVERIFY(watcher.results[0].picture == done.result->picture);
    QVERIFY(!engine_->job_running());
  }

  void the_time_of_every_role_is_told() {
    const Run done = run(small());
    double sum = 0.0;
    for (const Role role : {Role::te, Role::transformer, Role::vae}) {
      const WorkTime& time = done.result->times.of(role);
      QVERIFY(time.onednn > 0.0 && time.attention > 0.0 && time.other > 0.0);
      sum += time.total();
    }
    QCOMPARE(done.result->times.of(Role::none).total(), 0.0);
    QVERIFY(sum <= done.result->seconds);
  }

  void every_step_is_shown_one_pixel_a_cell() {
    Watcher watcher;
    GenerationSettings settings = small();
    settings.height = 72;
    QVERIFY(run(settings, nullptr, &watcher).outcome == JobOutcome::finished);
    QCOMPARE(watcher.steps.size(), std::size_t{3});
    for (std::size_t i = 0; i < 3; ++i) {
      const GenerationStep& step = watcher.steps[i];
      QCOMPARE(step.step, static_cast<std::int64_t>(i + 1));
      QCOMPARE(step.steps, std::int64_t{3});
      QCOMPARE(step.pass, std::int64_t{0});
      QCOMPARE(step.preview.width, std::int64_t{16});
      QCOMPARE(step.preview.height, std::int64_t{18});
      QVERIFY(step.seconds > 0.0 && step.seconds_left.has_value());
    }
    QVERIFY(watcher.steps[0].preview.rgb != watcher.steps[2].preview.rgb);
  }

  void progress_ends_with_all_calls_done() {
    const Run done = run(small());
    QVERIFY(!done.progress.empty());
    QCOMPARE(done.progress.back().calls_done, std::int64_t{1 + 3 * 2 + 1});
    QCOMPARE(done.progress.back().calls_total, done.progress.back().calls_done);
    QCOMPARE(done.progress.back().seconds_left.value_or(1.0), 0.0);
    QVERIFY(std::is_sorted(done.progress.begin(), done.progress.end(),
                           [](const JobProgress& a, const JobProgress& b) { return a.calls_done < b.calls_done; }));
  }

  void the_callback_counts_steps_and_the_decode_comes_after_the_last() {
    Recorder recorder;
    QVERIFY(run(small(), &recorder).outcome == JobOutcome::finished);
    QCOMPARE(recorder.steps_of(Role::te), std::vector<int>{0});
    QCOMPARE(recorder.steps_of(Role::transformer), each(3, 2));  // two blocks a step
    QCOMPARE(recorder.steps_of(Role::vae), std::vector<int>{3});
    QCOMPARE(recorder.seen.size(), std::size_t{8});
    QVERIFY(recorder.seen.front().role == Role::te && recorder.seen.back().role == Role::vae);
    for (const auto& seen : recorder.seen) QVERIFY(seen.computed && seen.on_cpu);
  }

  void the_hook_counts_forwards() {
    Recorder recorder;
    GenerationSettings settings = small();
    settings.step_source = StepSource::hook;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    QCOMPARE(recorder.steps_of(Role::transformer), each(3, 2));
    QCOMPARE(recorder.steps_of(Role::vae), std::vector<int>{2});  // nobody speaks after the last forward
  }

  void with_guidance_in_two_forwards_the_hook_counts_both() {
    Recorder recorder;
    GenerationSettings settings = small();
    settings.step_source = StepSource::hook;
    settings.text = TextForm::trimmed;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    QCOMPARE(recorder.steps_of(Role::transformer), each(6, 2));
    settings.step_source = StepSource::callback;
    Recorder again;
    QVERIFY(run(settings, &again).outcome == JobOutcome::finished);
    QCOMPARE(again.steps_of(Role::transformer), each(3, 4));
  }

  void the_joint_sequence_holds_text_then_image_and_hides_padding() {
    Recorder recorder;
    QVERIFY(run(small(), &recorder).outcome == JobOutcome::finished);
    for (const auto& seen : recorder.of(Role::transformer)) {
      QCOMPARE(seen.query, (std::vector<std::int64_t>{2, 2, 12 + 256, 64}));
      QVERIFY(seen.masked);
    }
    QCOMPARE(recorder.of(Role::te)[0].query, (std::vector<std::int64_t>{2, 2, 12, 16}));
    QVERIFY(recorder.of(Role::te)[0].masked);
    QCOMPARE(recorder.of(Role::vae)[0].query, (std::vector<std::int64_t>{1, 1, 256, 32}));
    QVERIFY(!recorder.of(Role::vae)[0].masked);
  }

  void the_layout_is_published_before_each_forward() {
    QVERIFY(run(small()).outcome == JobOutcome::finished);
    const auto layout = engine_->report().sparse.layout;
    QVERIFY(layout.has_value());
    QCOMPARE(q(layout->source), QString("indices"));
    QCOMPARE(layout->length, std::int64_t{12 + 256});
    QCOMPARE(layout->spans, (std::vector<TokenSpan>{{"text", 0, 12}, {"image", 12, 268}}));
    QVERIFY(layout_faults(*layout, 268).empty());
  }

  void without_padding_there_is_no_mask_and_the_same_picture() {
    GenerationSettings settings = small();
    const Run padded = run(settings);
    settings.text = TextForm::trimmed;
    Recorder recorder;
    const Run trimmed = run(settings, &recorder);
    std::set<std::vector<std::int64_t>> shapes;
    for (const auto& seen : recorder.of(Role::transformer)) {
      QVERIFY(!seen.masked);
      shapes.insert(seen.query);
    }
    QCOMPARE(shapes, (std::set<std::vector<std::int64_t>>{{1, 2, 8 + 256, 64}, {1, 2, 1 + 256, 64}}));
    int most = 0;
    for (std::size_t i = 0; i < padded.result->picture.rgb.size(); ++i) {
      most = std::max(most, std::abs(padded.result->picture.rgb[i] - trimmed.result->picture.rgb[i]));
    }
    QVERIFY2(most <= 1, qPrintable(QString::number(most)));
  }

  void guidance_of_1_needs_one_prompt() {
    GenerationSettings settings = small();
    settings.guidance = 1.0;
    Recorder recorder;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    for (const auto& seen : recorder.of(Role::transformer)) QCOMPARE(seen.query[0], std::int64_t{1});
  }

  void a_target_that_is_emulated_sees_tensors_on_the_accelerator() {
    engine_ = test::engine_for("rtx-3090");
    Recorder recorder;
    QVERIFY(run(small(), &recorder).outcome == JobOutcome::finished);
    for (const auto& seen : recorder.seen) QVERIFY(!seen.on_cpu);
  }

  void the_second_pass_starts_its_steps_again_data() {
    QTest::addColumn<int>("upscale");
    QTest::addColumn<int>("vae_calls");
    QTest::newRow("latent") << int(HiresSettings::Upscale::latent) << 1;
    QTest::newRow("image") << int(HiresSettings::Upscale::image) << 3;
  }
  void the_second_pass_starts_its_steps_again() {
    QFETCH(int, upscale);
    QFETCH(int, vae_calls);
    GenerationSettings settings = small();
    settings.hires = {96, 128, 2, 0.5, HiresSettings::Upscale(upscale)};
    Recorder recorder;
    Watcher watcher;
    const Run done = run(settings, &recorder, &watcher);
    QVERIFY(done.outcome == JobOutcome::finished);
    std::vector<int> steps = each(3, 2);
    const std::vector<int> second = each(2, 2);
    steps.insert(steps.end(), second.begin(), second.end());
    QCOMPARE(recorder.steps_of(Role::transformer), steps);
    QCOMPARE(recorder.of(Role::transformer).back().query[2], std::int64_t{12 + 24 * 32});
    QCOMPARE(static_cast<int>(recorder.of(Role::vae).size()), vae_calls);
    QCOMPARE(done.result->picture.width, std::int64_t{96});
    QCOMPARE(done.result->picture.height, std::int64_t{128});
    QCOMPARE(done.result->image_tokens, std::int64_t{24 * 32});
    QCOMPARE(watcher.steps.size(), std::size_t{5});
    QCOMPARE(watcher.steps.back().pass, std::int64_t{1});
    QCOMPARE(watcher.steps.back().preview.width, std::int64_t{24});
    QCOMPARE(done.progress.back().calls_done, done.progress.back().calls_total);
    QCOMPARE(engine_->report().sparse.layout->length, std::int64_t{12 + 24 * 32});
  }

  void the_picture_does_not_depend_on_the_threads_data() {
    QTest::addColumn<int>("width");
    QTest::addColumn<int>("height");
    QTest::addColumn<QString>("overrides");
    QTest::newRow("64 x 64") << 64 << 64 << "";
    QTest::newRow("a size that no piece divides") << 136 << 72 << "";
    QTest::newRow("quantised") << 128 << 128 << "SDNQ attention";
    QTest::newRow("flex") << 72 << 104 << "Flex attention";
  }
  void the_picture_does_not_depend_on_the_threads() {
    QFETCH(int, width);
    QFETCH(int, height);
    QFETCH(QString, overrides);
    engine_ = test::engine_for("rtx-3090");
    if (!overrides.isEmpty()) QVERIFY(engine_->set("sdp_overrides", OptionList{overrides.toStdString()}).has_value());
    GenerationSettings settings = small();
    settings.width = width;
    settings.height = height;
    settings.steps = 2;
    settings.hires = {width, height + 64, 1, 0.5, HiresSettings::Upscale::image};
    Recorder recorder;
    const Run one = run(settings, &recorder, nullptr, 1);
    QVERIFY(one.outcome == JobOutcome::finished);
    QVERIFY(run(settings, nullptr, nullptr, 2).result->picture == one.result->picture);
    if (overrides.isEmpty()) return;
    const QString served = q(recorder.of(Role::transformer).back().backend);
    QVERIFY2(overrides.toLower().startsWith(served), qPrintable(served));
  }

  void the_picture_depends_on_what_it_should_data() {
    QTest::addColumn<int>("what");
    int row = 0;
    for (const char* name : {"seed", "prompt", "negative prompt", "guidance", "steps"}) QTest::newRow(name) << row++;
  }
  void the_picture_depends_on_what_it_should() {
    QFETCH(int, what);
    const Picture before = run(small()).result->picture;
    QVERIFY(run(small()).result->picture == before);
    GenerationSettings settings = small();
    switch (what) {
      case 0:
        settings.seed = 12;
        break;
      case 1:
        settings.prompt = "a blue square on a white background";
        break;
      case 2:
        settings.negative_prompt = "a green star";
        break;
      case 3:
        settings.guidance = 4.0;
        break;
      default:
        settings.steps = 4;
    }
    QVERIFY(run(settings).result->picture != before);
  }

  void a_stop_ends_it_before_the_next_call() {
    std::stop_source stop;
    Recorder recorder;
    recorder.after_call = [&stop](std::size_t calls) {
      if (calls == 4) stop.request_stop();
    };
    Watcher watcher;
    const Run stopped = run(small(), &recorder, &watcher, 0, stop.get_token());
    QVERIFY(stopped.outcome == JobOutcome::stopped);
    QCOMPARE(recorder.seen.size(), std::size_t{4});
    QVERIFY(!stopped.result.has_value());
    QVERIFY(watcher.results.empty());
    QVERIFY(!engine_->job_running());
    QVERIFY(run(small()).outcome == JobOutcome::finished);
  }

  void compiled_routes_are_chosen_once_until_a_rebuild() {
    GenerationSettings settings = small();
    settings.compiled = true;
    model_->compiled_sites().clear();
    const Picture plain = run(small()).result->picture;
    QVERIFY(model_->compiled_sites().empty());
    for (int i = 0; i < 3; ++i) {
      QVERIFY(run(settings).result->picture == plain);
      QCOMPARE(model_->compiled_sites().size(), std::size_t{4});  // one of the text encoder, two blocks, the decoder
      for (const auto& [site, route] : model_->compiled_sites()) QCOMPARE(route.resolutions(), std::int64_t{1});
    }
    QVERIFY(engine_->set("sdp_overrides", OptionList{"Flex attention"}).has_value());
    Recorder recorder;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    for (const auto& [site, route] : model_->compiled_sites()) QCOMPARE(route.resolutions(), std::int64_t{2});
    model_->compiled_sites().clear();
  }

  void a_compiled_route_follows_the_chain_and_the_shape() {
    engine_ = test::engine_for("rtx-3090");
    GenerationSettings settings = small();
    settings.compiled = true;
    model_->compiled_sites().clear();
    QVERIFY(engine_->set("sdp_overrides", OptionList{"Flex attention"}).has_value());
    Recorder recorder;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    for (const auto& seen : recorder.of(Role::transformer)) QCOMPARE(q(seen.backend), QString("flex"));
    settings.width = 128;  // another size at the same call sites
    QVERIFY(run(settings).outcome == JobOutcome::finished);
    for (const auto& [site, route] : model_->compiled_sites()) {
      QCOMPARE(route.resolutions(), std::int64_t{site.first == Role::te ? 1 : 2});
    }
    QVERIFY(engine_->set("sdp_overrides", OptionList{"SDNQ attention"}).has_value());
    Recorder after;
    QVERIFY(run(settings, &after).outcome == JobOutcome::finished);
    for (const auto& seen : after.of(Role::transformer)) QCOMPARE(q(seen.backend), QString("sdnq"));
    model_->compiled_sites().clear();
  }

  void schedule_has_exactly_the_calls_that_are_made_data() {
    QTest::addColumn<QString>("upscale");
    QTest::addColumn<bool>("trimmed");
    QTest::addColumn<double>("guidance");
    for (const char* upscale : {"off", "latent", "image"}) {
      for (const bool trimmed : {false, true}) {
        for (const double guidance : {1.0, 3.0}) {
          QTest::addRow("%s %s %.0f", upscale, trimmed ? "trimmed" : "padded", guidance)
              << upscale << trimmed << guidance;
        }
      }
    }
  }
  void schedule_has_exactly_the_calls_that_are_made() {
    QFETCH(QString, upscale);
    QFETCH(bool, trimmed);
    QFETCH(double, guidance);
    GenerationSettings settings = small();
    settings.steps = 3;
    settings.guidance = guidance;
    settings.text = trimmed ? TextForm::trimmed : TextForm::padded;
    if (upscale != "off") {
      settings.hires = {96, 96, 2, 0.5,
                        upscale == "image" ? HiresSettings::Upscale::image : HiresSettings::Upscale::latent};
    }
    Recorder recorder;
    QVERIFY(run(settings, &recorder).outcome == JobOutcome::finished);
    const CallSchedule schedule = picture_schedule(settings, model_->config());
    for (const DistinctCall& distinct : schedule.distinct) QVERIFY(check_call(distinct.call).has_value());
    // In order, call by call: role and shape of the query.
    using Made = std::pair<Role, std::vector<std::int64_t>>;
    std::vector<Made> planned;
    for (const CallSchedule::Forward& forward : schedule.forwards) {
      const CallSchedule::Pattern& pattern = schedule.patterns[forward.pattern];
      for (const std::uint32_t call : pattern.calls) {
        const auto sizes = schedule.distinct[call].call.query.sizes();
        planned.emplace_back(forward.role, std::vector<std::int64_t>(sizes.begin(), sizes.end()));
        if (forward.role == Role::transformer) QCOMPARE(pattern.layout->length, sizes[2]);
      }
    }
    std::vector<Made> made;
    for (const auto& seen : recorder.seen) made.emplace_back(seen.role, seen.query);
    QVERIFY(planned == made);
    QCOMPARE(schedule.calls, std::int64_t(made.size()));
    std::int64_t times = 0;
    for (const DistinctCall& distinct : schedule.distinct) times += distinct.times;
    QCOMPARE(times, schedule.calls);
  }

  void a_setting_that_is_wrong_is_refused_in_a_sentence_data() {
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const char* json, const char* part) {
      QTest::newRow(name) << QString(json) << QString(part);
    };
    row("unknown word", R"({"prompt":"a red circel"})", "does not know the word \"circel\"; nearest: circle");
    row("negative word", R"({"negative_prompt":"a grene star"})", "negative prompt: the model does not know");
    row("far word", R"({"prompt":"xylophones"})", "it knows a, background, blue");
    row("special token", R"({"prompt":"<pad>"})", "does not know the word \"<pad>\"");
    row("too many words", R"({"prompt":"a a a a a a a a a a a a"})", "has 12 words; the model reads 11 at most");
    row("narrow", R"({"width":56})", "width 56: a multiple of 8 from 64 to 512");
    row("wide", R"({"height":520})", "height 520: a multiple of 8 from 64 to 512");
    row("odd", R"({"width":100})", "width 100: a multiple of 8");
    row("no steps", R"({"steps":0})", "steps 0: a whole number from 1 to 1000");
    row("guidance", R"({"guidance":0.5})", "guidance 0.5: a number from 1 to 30");
    row("small second pass", R"({"hires":{"width":64,"height":64}})", "may not be smaller than the first");
    row("strength", R"({"hires":{"strength":0}})", "hires strength 0: a number over 0");
    row("second steps", R"({"hires":{"steps":-1}})", "hires steps -1");
  }
  void a_setting_that_is_wrong_is_refused_in_a_sentence() {
    QFETCH(QString, json);
    QFETCH(QString, part);
    const auto settings = read_generation(nlohmann::ordered_json::parse(json.toStdString()));
    QVERIFY2(settings.has_value(), settings ? "" : settings.error().c_str());
    const auto job = ShapesJob::make(model_, *settings);
    QVERIFY(!job.has_value());
    QVERIFY2(q(job.error()).contains(part), job.error().c_str());
    QCOMPARE(q(job.error()).count('\n'), 0);
  }
};

QTEST_GUILESS_MAIN(PipelineJobTest)
#include "pipeline_job_test.moc"
