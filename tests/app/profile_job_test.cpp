// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/job_runner.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/settings/settings.h"
#include "support/oracle.h"
#include "trace/routes/route_table.h"

#include <QElapsedTimer>
#include <QtTest>
#include <condition_variable>
#include <map>
#include <set>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

const ProfileLibrary& library() {
  static const auto all =
      ProfileLibrary::parse(attn::test::file_bytes(ATTN_SOURCE "/resources/models/models.json"), "models.json");
  return *all;
}

const Profile& model(std::string_view id) { return **library().find(id); }

std::unique_ptr<Engine> engine_for(std::string_view target, OptionList overrides) {
  auto engine = std::make_unique<Engine>(make_registry(), *find_target(target));
  if (!engine->set(keys::overrides, std::move(overrides))) qFatal("overrides");
  return engine;
}

/// Keeps what the context said at every call.
class Recorder final : public RouteObserver {
 public:
  struct Seen {
    Role role;
    std::int32_t step;
    std::int64_t tokens;
    bool computed;
    std::string backend;
  };
  void observe(const RouteRecord& record) noexcept override {
    seen.push_back(
        {record.role, record.step, record.call.query_tokens(), record.computed, std::string(record.executed)});
    table.add(trace::make_event(record));
  }
  std::vector<Seen> seen;
  trace::RouteTable table;
};

std::unique_ptr<Job> job_of(std::string_view id, ProfileInputs inputs, Compute compute = Compute::none) {
  auto job = make_profile_job({model(id), std::move(inputs), compute, 0});
  if (!job) qFatal("%s", job.error().c_str());
  return *std::move(job);
}

/// A model whose calls are few and small, for jobs that really compute.
const ProfileInputs kSmall{{"width", 128}, {"height", 128}, {"steps", 2}};

}  // namespace

class ProfileJobTest : public QObject {
  Q_OBJECT

 private slots:
  void a_generation_encodes_then_denoises_then_decodes() {
    const auto engine = engine_for("rtx-3090", {"Sage attention"});
    Recorder recorder;
    const auto outcome = job_of("flux.1-dev", {{"steps", 4}})->run({*engine, &recorder, true, {}, {}});
    QVERIFY(outcome.has_value() && *outcome == JobOutcome::finished);
    QCOMPARE(recorder.seen.size(), std::size_t{12 + 4 * 57 + 1});  // CLIP, 57 blocks a step, one VAE block
    for (std::size_t i = 0; i < recorder.seen.size(); ++i) {
      const auto& seen = recorder.seen[i];
      const Role wanted = i < 12 ? Role::te : i < 12 + 4 * 57 ? Role::transformer : Role::vae;
      QVERIFY(seen.role == wanted);
      const std::size_t step = wanted == Role::te ? 0 : wanted == Role::vae ? 4 : (i - 12) / 57;
      QCOMPARE(seen.step, static_cast<std::int32_t>(step));
      QVERIFY(!seen.computed);
    }
    QVERIFY(!engine->job_running());
  }

  void every_model_plans_all_of_its_calls_in_milliseconds() {
    const auto engine = engine_for("rtx-3090", {"SDNQ attention", "Sage attention", "Flex attention"});
    int models = 0;
    for (const Profile& profile : library().profiles()) {
      std::int64_t stated = 0;
      const auto profile_calls = profile.calls({});
      for (const ProfileCall& call : *profile_calls) stated += call.sdpa ? call.runs * call.calls : 0;
      const auto schedule = make_schedule(profile, {});
      QVERIFY2(schedule.has_value(), schedule ? "" : schedule.error().c_str());
      QCOMPARE(schedule->calls, stated);
      // Denoisers stand in hooked slots, everything else does not.
      for (const auto& forward : schedule->forwards) {
        const bool hooked = is_denoiser_slot(schedule->patterns[forward.pattern].slot);
        if (hooked != (forward.role == Role::transformer)) QFAIL(profile.id().c_str());
      }
      Recorder recorder;
      const auto outcome = job_of(profile.id(), {})->run({*engine, &recorder, true, {}, {}});
      QVERIFY2(outcome.has_value(), outcome ? "" : outcome.error().c_str());
      QCOMPARE(static_cast<std::int64_t>(recorder.seen.size()), stated);
      ++models;
    }
    QCOMPARE(models, 53);
    // The longest one of all, 119056 tokens: planning touches no data.
    const auto job = job_of("hunyuanvideo", {});
    QElapsedTimer timer;
    timer.start();
    QVERIFY(job->run({*engine, nullptr, true, {}, {}}).has_value());
    QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed())));
  }

  void two_denoisers_follow_one_another_or_share_every_step() {
    const auto wan = make_schedule(model("wan-2.2-a14b"), {{"steps", 10}, {"cfg", 0}});
    QCOMPARE(wan->steps, std::int64_t{10});
    std::set<std::uint32_t> patterns;
    std::int32_t expected = 0;
    for (const auto& forward : wan->forwards) {
      if (forward.role != Role::transformer) continue;
      QCOMPARE(forward.step, expected++);
      patterns.insert(forward.pattern);
    }
    QCOMPARE(expected, 10);
    QCOMPARE(patterns.size(), std::size_t{2});

    const auto ideogram = make_schedule(model("ideogram-4"), {{"steps", 5}});
    QCOMPARE(ideogram->steps, std::int64_t{5});
    std::map<std::int32_t, int> forwards;
    for (const auto& forward : ideogram->forwards) {
      if (forward.role == Role::transformer) ++forwards[forward.step];
    }
    QCOMPARE(forwards.size(), std::size_t{5});
    for (const auto& [step, count] : forwards) QCOMPARE(count, 2);
  }

  void joint_models_publish_their_layout() {
    const auto flux = make_schedule(model("flux.1-dev"), {});
    int with_layout = 0;
    for (const auto& pattern : flux->patterns) {
      if (!pattern.layout) continue;
      ++with_layout;
      QCOMPARE(pattern.layout->length, std::int64_t{4608});
      QCOMPARE(pattern.layout->spans, (std::vector<TokenSpan>{{"text", 0, 512}, {"image", 512, 4608}}));
    }
    QCOMPARE(with_layout, 1);
    const auto hunyuan = make_schedule(model("hunyuanvideo"), {});
    for (const auto& pattern : hunyuan->patterns) {
      if (pattern.layout) QCOMPARE(q(pattern.layout->spans.at(0).kind), QString("video"));
    }
  }

  void the_blocks_of_sdxl_alternate_self_and_cross_attention() {
    const auto schedule = make_schedule(model("pixart-sigma"), {{"steps", 1}});
    const auto& denoiser = *std::find_if(schedule->forwards.begin(), schedule->forwards.end(),
                                         [](const auto& f) { return f.role == Role::transformer; });
    const auto& calls = schedule->patterns[denoiser.pattern].calls;
    QVERIFY(calls.size() > 4);
    QVERIFY(calls[0] != calls[1]);
    QCOMPARE(calls[0], calls[2]);
    QCOMPARE(calls[1], calls[3]);
  }

  void the_same_settings_route_as_the_checks_say() {
    const auto engine = engine_for("rtx-3090", {"Sage attention"});
    Recorder recorder;
    QVERIFY(job_of("sd-1.5", {{"steps", 1}})->run({*engine, &recorder, true, {}, {}}).has_value());
    for (const auto& row : recorder.table.by_calls()) {
      const std::int32_t head_dim = row.id.query.size[3];
      const bool sage = head_dim == 64 && !row.id.masked;
      QCOMPARE(q(row.executed), QString(sage ? "sage" : "sdpa"));
    }
  }

  void on_the_cpu_every_tensor_is_on_the_cpu() {
    const auto engine = engine_for("cpu", {"Sage attention"});
    Recorder recorder;
    QVERIFY(job_of("sd-2.1", {{"steps", 1}})->run({*engine, &recorder, true, {}, {}}).has_value());
    for (const auto& seen : recorder.seen) QCOMPARE(q(seen.backend), QString("sdpa"));
  }

  void representatives_compute_each_route_once_and_count_the_rest() {
    const auto engine = engine_for("rtx-3090", {"Sage attention"});
    Recorder recorder;
    std::vector<JobProgress> progress;
    const auto outcome =
        job_of("sd-2.1", kSmall, Compute::representatives)
            ->run({*engine, &recorder, true, {}, [&](const JobProgress& p) { progress.push_back(p); }});
    QVERIFY2(outcome.has_value(), outcome ? "" : outcome.error().c_str());
    for (const auto& row : recorder.table.by_calls()) {
      QVERIFY2(row.computed_calls >= 1, row.executed.c_str());
      QVERIFY(row.seconds > 0.0);
    }
    const auto planned = make_schedule(model("sd-2.1"), kSmall);
    QCOMPARE(static_cast<std::int64_t>(recorder.seen.size()), planned->calls);
    const auto computed =
        std::count_if(recorder.seen.begin(), recorder.seen.end(), [](const auto& s) { return s.computed; });
    const auto distinct =
        std::count_if(planned->distinct.begin(), planned->distinct.end(), [](const auto& d) { return d.times > 0; });
    QCOMPARE(static_cast<std::int64_t>(computed), static_cast<std::int64_t>(distinct));
    QVERIFY(!progress.empty());
    QCOMPARE(progress.back().calls_done, planned->calls);
    QCOMPARE(progress.back().calls_total, planned->calls);
    QVERIFY(progress.back().seconds_left.has_value() && *progress.back().seconds_left == 0.0);
  }

  void all_computes_every_call() {
    const auto engine = engine_for("rtx-3090", {});
    Recorder recorder;
    QVERIFY(job_of("sd-2.1", {{"width", 64}, {"height", 64}, {"steps", 1}}, Compute::all)
                ->run({*engine, &recorder, true, {}, {}})
                .has_value());
    for (const auto& seen : recorder.seen) QVERIFY(seen.computed);
  }

  void a_call_that_does_not_fit_refuses_the_job_before_anything_runs() {
    // A square float mask of 113585 tokens alone takes 12.9 GB, its math path hundreds.
    const auto engine = engine_for("rtx-3090", {});
    Recorder recorder;
    const auto outcome = job_of("hunyuanvideo-1.5", {{"frames", 481}, {"steps", 1}}, Compute::representatives)
                             ->run({*engine, &recorder, true, {}, {}});
    QVERIFY(!outcome.has_value());
    QVERIFY2(q(outcome.error()).contains("are free; plan it without computing"), outcome.error().c_str());
    QVERIFY(recorder.seen.empty());
    QVERIFY(!engine->job_running());
  }

  void no_kernel_at_all_is_a_sentence_and_leaves_the_engine_usable() {
    const auto engine = engine_for("rtx-3090", {});
    QVERIFY(engine->set(keys::kernels, OptionList{}).has_value());
    const auto outcome = job_of("flux.1-dev", {{"steps", 1}})->run({*engine, nullptr, true, {}, {}});
    QVERIFY(!outcome.has_value());
    QVERIFY2(q(outcome.error()).contains("could not be served: no sdpa kernel is enabled"), outcome.error().c_str());
    QVERIFY(!engine->job_running());
    QVERIFY(engine->set(keys::kernels, OptionList{"Math"}).has_value());
    QVERIFY(job_of("flux.1-dev", {{"steps", 1}})->run({*engine, nullptr, true, {}, {}}).has_value());
  }

  void a_stop_takes_effect_between_two_calls() {
    const auto engine = engine_for("rtx-3090", {});
    std::stop_source source;
    Recorder recorder;
    const auto stop_soon = [&](const JobProgress& progress) {
      if (progress.calls_done >= 1) source.request_stop();
    };
    const auto outcome = job_of("sd-2.1", kSmall, Compute::representatives)
                             ->run({*engine, &recorder, true, source.get_token(), stop_soon});
    QVERIFY(outcome.has_value());
    QVERIFY(*outcome == JobOutcome::stopped);
    QVERIFY(!recorder.seen.empty());
    QVERIFY(static_cast<std::int64_t>(recorder.seen.size()) < make_schedule(model("sd-2.1"), kSmall)->calls);
    QVERIFY(!engine->job_running());
  }

  void the_runner_runs_one_job_and_tells_its_end_once() {
    const auto engine = engine_for("rtx-3090", {});
    JobRunner runner;
    std::atomic<int> ends{0};
    std::atomic<bool> was_running{true};
    const auto ended = [&](const JobEnd& end) {
      was_running = runner.running();
      if (end.outcome == JobOutcome::finished && end.error.empty()) ++ends;
    };
    QVERIFY(runner.start(job_of("flux.1-dev", {}), *engine, nullptr, false, {{}, ended}).has_value());
    runner.wait();
    QCOMPARE(ends.load(), 1);
    QVERIFY(!was_running);
    QVERIFY(!runner.running());
  }

  void the_runner_refuses_a_second_job_and_stops_the_first() {
    const auto engine = engine_for("rtx-3090", {});
    class Waiting final : public Job {
     public:
      [[nodiscard]] std::string title() const override { return "waits for its stop"; }
      [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        wake.wait(lock, environment.stop, [] { return false; });
        return JobOutcome::stopped;
      }
    };
    class Throwing final : public Job {
     public:
      [[nodiscard]] std::string title() const override { return "throws"; }
      [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment&) override {
        throw std::runtime_error("in the middle");
      }
    };
    JobRunner runner;
    std::vector<JobEnd> ends;
    const auto ended = [&](const JobEnd& end) { ends.push_back(end); };
    QVERIFY(runner.start(std::make_unique<Waiting>(), *engine, nullptr, false, {{}, ended}).has_value());
    QVERIFY(runner.running());
    const auto second = runner.start(job_of("flux.1-dev", {}), *engine, nullptr, false, {});
    QVERIFY(!second.has_value());
    QVERIFY(second.error().find("a job is running") != std::string::npos);
    runner.stop();
    runner.wait();
    QVERIFY(runner.start(std::make_unique<Throwing>(), *engine, nullptr, false, {{}, ended}).has_value());
    runner.wait();
    QCOMPARE(ends.size(), std::size_t{2});
    QVERIFY(ends[0].outcome == JobOutcome::stopped);
    QVERIFY(ends[1].outcome == JobOutcome::failed);
    QCOMPARE(q(ends[1].error), QString("the job broke off: in the middle"));
  }

  void wrong_inputs_are_refused_before_a_job_exists() {
    QVERIFY(!make_profile_job({model("flux.1-dev"), {{"width", 0}}, Compute::none, 0}).has_value());
  }
};

QTEST_GUILESS_MAIN(ProfileJobTest)
#include "profile_job_test.moc"
