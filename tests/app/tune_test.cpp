// SPDX-License-Identifier: GPL-3.0-or-later
// Tuning: what it picks from stated times, that it keeps every limit, and whom it leaves alone.
#include "app/jobs/tune/tune.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "support/lever_jobs.h"
#include "support/tiny_shapes.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

using namespace attn;
using namespace attn::app;
using attn::test::TimedJob;

namespace {

using Times = std::map<std::string, double>;

std::unique_ptr<Engine> engine_on(const std::string& target, const SettingList& settings = {}) {
  auto engine = std::make_unique<Engine>(make_registry(), *find_target(target));
  if (auto set = engine->set_all(settings); !set) qFatal("%s", set.error().c_str());
  return engine;
}

std::unique_ptr<LeverJob> job_of(const std::string& call) {
  return make_lever_job(make_schedule(*parse_call(call)), 0);
}

/// Two kinds of calls: a self attention that everybody takes, and a masked one that sage and flash decline.
std::unique_ptr<LeverJob> two_kinds() {
  CallSchedule schedule = make_schedule(*parse_call("q[1,2,256,64] fp16"));
  const CallSchedule masked = make_schedule(*parse_call("q[1,2,200,64] fp16 mask=bool role=te"));
  schedule.distinct.push_back(masked.distinct[0]);
  schedule.patterns.push_back({{1}, "", std::nullopt});
  schedule.forwards.insert(schedule.forwards.begin(), {Role::te, 0, 1});
  schedule.calls = 2;
  return make_lever_job(std::move(schedule), 0);
}

TuneRequest request_for(const Engine& engine, double least_cosine = 0.99) {
  TuneRequest request;
  request.limits.min_cosine = least_cosine;
  request.fixed = explicit_keys(engine);
  return request;
}

TuneResult tuned(const LeverJob& job, const Engine& engine, const TuneRequest& request) {
  auto result = tune(job, engine, request);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

const TunePick& pick_for(const TuneResult& result, Role role) {
  const auto found = std::find_if(result.picks.begin(), result.picks.end(),
                                  [role](const TunePick& pick) { return pick.role == role; });
  if (found == result.picks.end()) qFatal("no pick");
  return *found;
}

bool any_has(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&part](const std::string& one) { return one.find(part) != std::string::npos; });
}

/// On a machine that happens to be fast whenever the third of three variants has its turn.
class LuckyThirdJob final : public attn::test::CountedJob {
 public:
  using attn::test::CountedJob::CountedJob;
  [[nodiscard]] Expected<LeverMeasure> measure(const LeverSetup& baseline, const LeverSetup& variant,
                                               const LeverRepeat& how) const override {
    LeverRepeat once = how;
    once.repeat = 1;
    once.shortest = 0.0;
    auto measure = attn::test::CountedJob::measure(baseline, variant, once);
    if (!measure) return measure;
    const double seconds = ++calls_ % 3 == 0 ? 0.5 : 1.0;
    const auto count = static_cast<std::size_t>(how.repeat);
    measure->seconds.assign(count, seconds);
    measure->attention_seconds = measure->seconds;
    measure->baseline_seconds.assign(count, 1.0);
    return measure;
  }

 private:
  mutable int calls_ = 0;
};

}  // namespace

class TuneTest : public QObject {
  Q_OBJECT

  const Times times_{{"sdpa", 1.0}, {"sage", 0.7},    {"flash", 0.9},
                     {"flex", 1.3}, {"dynamic", 1.1}, {"flex+sparse", 0.3}};

 private slots:
  void the_fastest_within_the_limits_is_picked() {
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,256,64] fp16");
    const TimedJob job(*real, times_, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine));
    QVERIFY(result.changed);
    QCOMPARE(result.chosen, std::string("backend:sage"));
    QVERIFY(std::abs(result.gain - 0.3) < 1e-9);
    QVERIFY2(result.reason.starts_with("backend:sage: 1.43x the default's speed; cosine 0.99"), result.reason.c_str());
    QVERIFY(result.reason.find("at least 0.99") != std::string::npos);
    QVERIFY(any_has(result.refused, "sparse:flex:30 was 3.33x but cosine"));
    const TunePick& pick = result.picks.at(0);
    QCOMPARE(pick.backend, std::string("sage"));
    QVERIFY2(pick.reason.starts_with("measured: sage") &&
                 pick.reason.find("1.43x the default's speed") != std::string::npos &&
                 pick.reason.find("is under 0.99") != std::string::npos,
             pick.reason.c_str());
  }

  void a_tighter_limit_picks_another() {
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,256,64] fp16");
    const TimedJob job(*real, times_, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine, 0.9999999));
    QCOMPARE(result.chosen, std::string("backend:flash"));
    QVERIFY(any_has(result.refused, "backend:sage was 1.43x but cosine"));
  }

  void the_choice_is_a_change_that_can_be_undone() {
    const auto engine = engine_on("rtx-3090");
    const OptionValues before = engine->values();
    const auto real = job_of("q[1,2,256,64] fp16");
    const TimedJob job(*real, times_, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine));
    QVERIFY(!result.change.empty());
    QCOMPARE(result.change.text(), std::string("- sdp_overrides: none\n+ sdp_overrides: Sage attention\n"));
    // Tuning itself changed nothing.
    QVERIFY(engine->values().all() == before.all());
    QVERIFY(result.change.apply(*engine).has_value());
    QCOMPARE(engine->plan()->chain(), std::string("sage>sdpa"));
    QVERIFY(result.change.undo(*engine).has_value());
    QVERIFY(engine->values().all() == before.all());
  }

  void a_dispatchers_backend_becomes_a_measured_choice() {
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,256,64] fp16");
    Times times = times_;
    times["xformers"] = 0.5;
    const TimedJob job(*real, times, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine));
    QCOMPARE(result.chosen, std::string("dispatcher:xformers"));
    const MeasuredChoice& choice = result.change.attention_after.measured.at(Role::transformer);
    QCOMPARE(choice.backend, std::string("xformers"));
    QVERIFY(std::abs(choice.gain - 0.5) < 1e-9 && choice.noise >= kLeastNoise);
    QVERIFY(result.change.apply(*engine).has_value());
    const auto decisions = engine->attention_decisions();
    QCOMPARE(decisions[1].level, ChoiceLevel::measured);
    QCOMPARE(decisions[1].selection.backend, std::optional<std::string>("xformers"));
    QVERIFY(result.change.undo(*engine).has_value());
    QCOMPARE(engine->attention_decisions()[1].level, ChoiceLevel::standard);
  }

  void noise_keeps_the_default_data() {
    QTest::addColumn<double>("gain");
    QTest::addColumn<double>("unrest");
    QTest::addColumn<bool>("changes");
    QTest::newRow("quiet, large") << 0.3 << 0.0 << true;
    QTest::newRow("quiet, 4 %") << 0.04 << 0.0 << true;
    QTest::newRow("quiet, below 2 %") << 0.015 << 0.0 << false;
    QTest::newRow("just below 2 %") << 0.0199 << 0.0 << false;
    QTest::newRow("4 % in 10 % of noise") << 0.04 << 0.1 << false;
    QTest::newRow("30 % in 3 % of noise") << 0.3 << 0.03 << true;
    QTest::newRow("no gain") << 0.0 << 0.05 << false;
    QTest::newRow("slower") << -0.2 << 0.02 << false;
  }

  void noise_keeps_the_default() {
    QFETCH(double, gain);
    QFETCH(double, unrest);
    QFETCH(bool, changes);
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,256,64] fp16");
    TuneRequest request = request_for(*engine);
    request.globs = {"backend:sage"};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const TimedJob job(*real, {{"sdpa", 1.0}, {"sage", 1.0 - gain}}, unrest, seed);
      const TuneResult result = tuned(job, *engine, request);
      QCOMPARE(result.changed, changes);
      QVERIFY(result.noise >= kLeastNoise);
      QCOMPARE(result.chosen, std::string(changes ? "backend:sage" : "as-set"));
      QCOMPARE(result.change.empty(), !changes);
      if (changes) QVERIFY(result.gain > result.noise);
      if (!changes) QVERIFY(result.reason.starts_with("the default stays"));
    }
  }

  void where_every_choice_stays_a_lucky_clock_chooses_nothing() {
    const auto engine = engine_on("rtx-3090");
    QVERIFY(engine->set("sdp_options", OptionList{"Math"}).has_value());
    const auto real = job_of("q[1,2,256,64] fp16");
    const LuckyThirdJob job(*real);
    TuneRequest request = request_for(*engine);
    request.fixed.emplace("sdp_overrides");
    request.globs = {"backend:flex", "kernels:Memory"};
    const TuneResult result = tuned(job, *engine, request);
    QVERIFY2(!result.changed, (result.chosen + ": " + result.reason).c_str());
    QCOMPARE(result.chosen, std::string("as-set"));
  }

  void no_choice_breaks_a_limit_data() {
    QTest::addColumn<double>("cosine");
    QTest::addColumn<double>("seconds");
    QTest::addColumn<qlonglong>("memory");
    QTest::addColumn<QString>("scope");
    for (const char* scope : {"chain", "route"}) {
      for (const double cosine : {0.5, 0.99, 1.0}) {
        for (const double seconds : {0.0, 0.8}) {
          for (const qlonglong memory : {qlonglong{0}, qlonglong{800000}}) {
            QTest::addRow("%s %g %g %lld", scope, cosine, seconds, memory) << cosine << seconds << memory << scope;
          }
        }
      }
    }
  }

  void no_choice_breaks_a_limit() {
    QFETCH(double, cosine);
    QFETCH(double, seconds);
    QFETCH(qlonglong, memory);
    QFETCH(QString, scope);
    const auto engine = engine_on("rtx-3090");
    const auto real = two_kinds();
    const TimedJob job(*real, {{"sdpa", 0.5}, {"sage", 0.25}, {"flash", 0.4}, {"flex", 0.45}, {"flex+sparse", 0.1}},
                       0.002, 4);
    TuneRequest request = request_for(*engine, cosine);
    request.globs = {"backend:*", "sparse:flex:*", "chain"};
    request.scope = *parse_tune_scope(scope.toStdString());
    request.repeat = 2;
    if (seconds > 0.0) request.limits.max_seconds = seconds;
    if (memory > 0) request.limits.max_memory = memory;
    const auto result = tune(job, *engine, request);
    if (!result) {
      QVERIFY2(result.error().starts_with("nothing is within the limits; the default: "), result.error().c_str());
      // The default takes 1 s: only a limit of the time, and one that nothing exact meets, can leave nothing.
      QVERIFY(seconds > 0.0 || memory > 0);
      return;
    }
    QVERIFY(result->change.apply(*engine).has_value());
    // Run again as the settings are now, by the real job: cosine and memory are not the clock's.
    const auto exact = *lever_engine(*engine, lever_variants(*engine, false).front());
    const auto again = real->measure({*exact, false}, {*engine, false}, {.repeat = 1, .stop = {}, .progress = {}});
    LeverRow row;
    row.measure = *again;
    row.measure.seconds = result->checked.measure.seconds;
    QCOMPARE(broken_limits(row, request.limits), std::vector<std::string>{});
    QCOMPARE(row.worst_cosine(), result->checked.worst_cosine());
    QVERIFY(row.worst_cosine() >= cosine);
  }

  void a_choice_that_breaks_a_limit_the_second_time_is_not_returned() {
    // A job that is only within the limit the first time that a backend is measured.
    class Fickle final : public attn::test::CountedJob {
     public:
      using attn::test::CountedJob::CountedJob;
      [[nodiscard]] Expected<LeverMeasure> measure(const LeverSetup& baseline, const LeverSetup& variant,
                                                   const LeverRepeat& how) const override {
        auto measure = attn::test::CountedJob::measure(baseline, variant, how);
        if (!measure) return measure;
        const bool sage = measure->routes[0].backend == "sage";
        measure->seconds.assign(measure->seconds.size(), sage ? 0.5 : 1.0);
        measure->baseline_seconds.assign(measure->seconds.size(), 1.0);
        if (sage && ++sages_ > 1) measure->routes[0].cosine = 0.3;
        return measure;
      }

     private:
      mutable int sages_ = 0;
    };
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,256,64] fp16");
    const Fickle job(*real);
    TuneRequest request = request_for(*engine);
    request.globs = {"backend:sage"};
    const TuneResult result = tuned(job, *engine, request);
    QVERIFY(!result.changed);
    QCOMPARE(result.chosen, std::string("as-set"));
    QVERIFY2(any_has(result.refused, "backend:sage, measured again: cosine 0.3 is under 0.99"),
             result.refused.empty() ? "" : result.refused.front().c_str());
  }

  void a_default_that_breaks_a_limit_is_left() {
    const auto engine = engine_on("rtx-3090", {{"sdp_overrides", OptionList{"Sage attention"}}});
    const auto real = job_of("q[1,2,256,64] fp16");
    const TimedJob job(*real, times_, 0.0, 1);
    TuneRequest request = request_for(*engine, 0.9999999);
    request.fixed.clear();
    const TuneResult result = tuned(job, *engine, request);
    QCOMPARE(result.chosen, std::string("backend:flash"));
    QVERIFY2(result.reason.find("the default breaks a limit (cosine 0.999") != std::string::npos,
             result.reason.c_str());
  }

  void somebodys_overrides_stay() {
    const auto engine = engine_on("rtx-3090", {{"sdp_overrides", OptionList{"Flash attention"}}});
    const auto real = job_of("q[1,2,256,64] fp16");
    const TimedJob job(*real, times_, 0.0, 1);
    TuneRequest request = request_for(*engine);
    const TuneResult kept = tuned(job, *engine, request);
    QVERIFY(!kept.changed);
    QVERIFY(any_has(kept.kept, "sdp_overrides stays Flash attention: explicit for all"));
    QCOMPARE(kept.picks.at(0).level, ChoiceLevel::explicit_for_all);
    QVERIFY(kept.picks.at(0).reason.starts_with("explicit for all: "));
    QVERIFY(kept.table.find("backend:sage") == nullptr);
    request.fixed.erase("sdp_overrides");
    QCOMPARE(tuned(job, *engine, request).chosen, std::string("backend:sage"));
  }

  void case_57_a_measured_choice_never_stands_over_an_explicit_one_data() {
    QTest::addColumn<QString>("who");
    QTest::addColumn<QString>("level");
    QTest::newRow("model") << "required"
                           << "required by the model";
    QTest::newRow("role") << "role"
                          << "explicit per role";
    QTest::newRow("all") << "all"
                         << "explicit for all";
    QTest::newRow("hf_attention") << "dispatcher"
                                  << "explicit for all";
    QTest::newRow("nobody") << "nobody"
                            << "measured";
  }

  void case_57_a_measured_choice_never_stands_over_an_explicit_one() {
    QFETCH(QString, who);
    QFETCH(QString, level);
    const auto engine = engine_on("rtx-3090");
    AttentionChoices choices = engine->attention();
    if (who == "required") choices.required = "flash";
    if (who == "role") choices.per_role[Role::transformer] = "flash";
    if (who == "all") choices.all = "flash";
    if (who == "dispatcher") QVERIFY(engine->set("hf_attention", std::string("flash")).has_value());
    QVERIFY(engine->set_attention(choices).has_value());
    const auto real = job_of("q[1,2,256,64] fp16");
    Times times = times_;
    times["xformers"] = 0.5;  // much faster than what somebody asked for
    const TimedJob job(*real, times, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine));
    QVERIFY(result.change.apply(*engine).has_value());
    const AttentionDecision decision = engine->attention_decisions()[1];
    QCOMPARE(std::string(name_of(decision.level)), level.toStdString());
    QCOMPARE(*decision.selection.backend, std::string(who == "nobody" ? "xformers" : "flash"));
    QCOMPARE(std::string(name_of(result.picks.at(0).level)), level.toStdString());
    QVERIFY(result.picks.at(0).reason.starts_with(level.toStdString()));
    QCOMPARE(result.changed, who == "nobody");
    QCOMPARE(any_has(result.kept, "attention backend of the transformer stays flash: " + level.toStdString()),
             who != "nobody");
  }

  void routes_are_combined_as_the_settings_can_say_it() {
    // flex is the best for the masked calls of the text encoder and sage for the others: no variant of the list has
    // just those two.
    const auto engine = engine_on("rtx-3090");
    const auto real = two_kinds();
    const Times times{{"sdpa", 1.0}, {"sage", 0.4}, {"flex", 0.5}, {"flash", 0.9}, {"dynamic", 1.2}, {"sdnq", 2.0}};
    const TimedJob job(*real, times, 0.0, 1);
    TuneRequest request = request_for(*engine);
    request.globs = {"backend:*"};
    const TuneResult chain = tuned(job, *engine, request);
    QCOMPARE(chain.chosen, std::string("backend:flex"));
    request.scope = TuneScope::route;
    const TuneResult route = tuned(job, *engine, request);
    QVERIFY2(route.chosen.starts_with("route:"), route.chosen.c_str());
    QCOMPARE(pick_for(route, Role::te).backend, std::string("flex"));
    QCOMPARE(pick_for(route, Role::transformer).backend, std::string("sage"));
    QVERIFY(std::abs(route.gain - 0.55) < 1e-9);
    QVERIFY(route.change.apply(*engine).has_value());
    const auto real_row =
        real->measure({*engine_on("rtx-3090"), false}, {*engine, false}, {.repeat = 1, .stop = {}, .progress = {}});
    QVERIFY(real_row.has_value());
  }

  void the_default_may_be_more_than_sdpa() {
    // The processor's default has Dynamic attention; plain sdpa is faster here.
    const auto engine = engine_on("cpu");
    const auto real = job_of("q[1,2,256,64] fp32 device=cpu");
    const TimedJob job(*real, {{"sdpa", 0.8}, {"dynamic", 1.0}}, 0.0, 1);
    const TuneResult result = tuned(job, *engine, request_for(*engine));
    QCOMPARE(result.chosen, std::string("plain"));
    QVERIFY(std::abs(result.gain - 0.2) < 1e-9);
    QCOMPARE(result.change.text(), std::string("- sdp_overrides: Dynamic attention\n+ sdp_overrides: none\n"));
  }

  void a_picture_has_to_be_as_near_as_was_asked() {
    QTemporaryDir folder;
    attn::test::TinyShapes::write(folder.path());
    GenerationSettings settings;
    settings.prompt = "a red circle";
    settings.width = settings.height = 64;
    settings.steps = 2;
    settings.dtype = DType::float16;
    settings.text = TextForm::trimmed;
    const auto real = *make_lever_job(*ShapesModel::load(folder.path().toStdString()), settings);
    const auto engine = engine_on("rtx-3090");
    const TimedJob job(*real, {{"sdpa", 1.0}, {"sage", 0.5}, {"flash", 0.8}}, 0.0, 1);
    TuneRequest request = request_for(*engine, 0.5);
    request.globs = {"backend:sage", "backend:flash"};
    request.repeat = 2;
    request.limits.min_psnr = 20.0;
    const TuneResult near = tuned(job, *engine, request);
    QCOMPARE(near.chosen, std::string("backend:sage"));
    QVERIFY(near.checked.measure.picture->psnr >= 20.0);
    request.limits.min_psnr = 200.0;  // only an equal picture
    const TuneResult equal = tuned(job, *engine, request);
    QVERIFY(equal.chosen != "backend:sage");
    QVERIFY(any_has(equal.refused, "is under 200 dB"));
    QVERIFY(!tune(*job_of("q[1,1,64,64]"), *engine, request));
  }

  void a_stop_leaves_no_choice() {
    const auto engine = engine_on("rtx-3090");
    std::stop_source stop;
    TuneRequest request = request_for(*engine);
    request.stop = stop.get_token();
    request.progress = [&stop](const LeverProgress& progress) {
      if (progress.done == 2) stop.request_stop();
    };
    const TuneResult result = tuned(*job_of("q[1,2,128,64] fp16"), *engine, request);
    QCOMPARE(result.outcome, JobOutcome::stopped);
    QVERIFY(!result.changed && result.change.after.empty());
  }

  void what_there_is_not_is_refused() {
    const auto engine = engine_on("rtx-3090");
    const auto job = job_of("q[1,2,128,64] fp16");
    TuneRequest request;
    request.backends = {"Sage atention"};
    const auto label = tune(*job, *engine, request);
    QVERIFY(!label && label.error().find("Sage attention") != std::string::npos);
    request.backends.clear();
    request.globs = {"nothing"};
    QVERIFY(!tune(*job, *engine, request));
  }
};

QTEST_GUILESS_MAIN(TuneTest)
#include "tune_test.moc"
