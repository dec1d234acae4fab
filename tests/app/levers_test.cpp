// SPDX-License-Identifier: GPL-3.0-or-later
// Levers: which variants there are, what measuring them promises, and that nothing leaks from one into the next.
#include "app/jobs/levers/levers.h"
#include "app/jobs/compare/compare.h"
#include "app/jobs/levers/bits_hash.h"
#include "app/jobs/levers/host_memory.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/generated.h"
#include "backends/all.h"
#include "core/policy/attention_request.h"
#include "support/lever_jobs.h"
#include "support/tiny_shapes.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <set>

using namespace attn;
using namespace attn::app;
using attn::test::CountedJob;

namespace {

std::unique_ptr<Engine> engine_on(const std::string& target, const SettingList& settings = {}) {
  auto engine = std::make_unique<Engine>(make_registry(), *find_target(target));
  if (auto set = engine->set_all(settings); !set) qFatal("%s", set.error().c_str());
  return engine;
}

std::unique_ptr<LeverJob> job_of(const std::string& call, std::uint64_t seed = 0) {
  return make_lever_job(make_schedule(*parse_call(call)), seed);
}

std::vector<std::string> names_of(const std::vector<LeverVariant>& variants) {
  std::vector<std::string> names;
  for (const LeverVariant& variant : variants) names.push_back(variant.name);
  return names;
}

std::vector<LeverVariant> variants_of(const Engine& engine, const std::vector<std::string>& globs,
                                      bool can_compile = false) {
  return *narrow_variants(lever_variants(engine, can_compile), globs);
}

LeverResult measured(const LeverJob& job, const Engine& engine, const std::vector<std::string>& globs) {
  LeverRun run{.variants = variants_of(engine, globs, job.draws()), .repeat = 1};
  auto result = measure_levers(job, engine, run);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

LeverRow made_up(const std::string& name, double time, double error) {
  LeverRow row;
  row.variant.name = name;
  row.variant.group = name == "baseline" ? LeverGroup::baseline : LeverGroup::backend;
  row.measure.seconds = {time};
  row.measure.baseline_seconds = {1.0};
  row.measure.routes = {{.call = "q[1,1,1,1]", .calls = 1, .relative_l1 = error}};
  return row;
}

}  // namespace

class LeversTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::shared_ptr<ShapesModel> model_;

  [[nodiscard]] GenerationSettings picture() const {
    GenerationSettings settings;
    settings.prompt = "a red circle";
    settings.width = settings.height = 64;
    settings.steps = 2;
    return settings;
  }

 private slots:
  void initTestCase() {
    attn::test::TinyShapes::write(folder_.path());
    auto model = ShapesModel::load(folder_.path().toStdString());
    if (!model) qFatal("%s", model.error().c_str());
    model_ = *std::move(model);
  }

  void the_list_follows_registry_specs_and_aliases() {
    const auto engine = engine_on("rtx-3090");
    const auto variants = lever_variants(*engine, true);
    const auto names = names_of(variants);
    QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    QCOMPARE(names.front(), std::string("baseline"));
    QCOMPARE(names.back(), std::string("as-set"));
    const auto has = [&names](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const BackendSpec& spec : engine->registry().ascending()) {
      QVERIFY2(has("backend:" + spec.name) && has("chain-without:" + spec.name), spec.name.c_str());
      for (const char* budget : {"50", "30", "15"}) {
        QCOMPARE(has("sparse:" + spec.name + ":" + budget), spec.capabilities.block_mask);
      }
      const auto schedules = std::count_if(names.begin(), names.end(), [&spec](const std::string& name) {
        return name.starts_with("sparse:" + spec.name) && name.find('+') != std::string::npos;
      });
      QCOMPARE(schedules >= 2, spec.capabilities.block_mask);
    }
    std::set<std::string_view> dispatched;
    for (const AttentionAlias& alias : attention_aliases()) {
      if (!alias.backend.empty()) dispatched.insert(alias.backend);
    }
    QCOMPARE(std::count_if(variants.begin(), variants.end(),
                           [](const auto& one) { return one.group == LeverGroup::dispatcher; }),
             static_cast<std::ptrdiff_t>(dispatched.size()));
    const auto specs = engine->specs();
    const auto kernels = std::find_if(specs.begin(), specs.end(), [](const auto& s) { return s.key == keys::kernels; });
    for (const std::string& kernel : kernels->choices) {
      QVERIFY(has("kernels:" + kernel) && has("kernels-without:" + kernel));
    }
    QVERIFY(has("compiled") && has("compiled:chain"));
    QVERIFY(!names_of(lever_variants(*engine, false)).empty());
    const auto plain = lever_variants(*engine, false);
    QVERIFY(std::none_of(plain.begin(), plain.end(), [](const auto& one) { return one.compiled; }));
    for (const LeverVariant& variant : variants) {
      QVERIFY2(lever_engine(*engine, variant).has_value(), variant.name.c_str());
      QVERIFY(!variant.what.empty());
      QCOMPARE(parse_lever_group(name_of(variant.group)), std::optional(variant.group));
    }
  }

  void stated_overrides_limit_the_backends() {
    const auto engine = engine_on("rtx-3090", {{"sdp_overrides", OptionList{"Sage attention", "Flex attention"}}});
    const auto names = names_of(variants_of(*engine, {"backend:*", "chain*"}));
    QCOMPARE(names, (std::vector<std::string>{"baseline", "backend:sage", "backend:flex", "chain"}));
    // The processor's default has Dynamic attention in it; nobody chose that.
    QVERIFY(variants_of(*engine_on("cpu"), {"backend:*"}).size() > 4);
  }

  void names_groups_and_globs_narrow_the_list() {
    const auto all = lever_variants(*engine_on("rtx-3090"), true);
    QCOMPARE(names_of(*narrow_variants(all, {"chain"})), (std::vector<std::string>{"baseline", "chain"}));
    QCOMPARE(narrow_variants(all, {"compiled:*"})->size(), std::size_t{2});
    const auto kernels = *narrow_variants(all, {"kernels"});
    QVERIFY(kernels.size() > 4 &&
            std::all_of(kernels.begin() + 1, kernels.end(), [](auto& v) { return v.group == LeverGroup::kernels; }));
    const auto plain = *narrow_variants(all, {});
    QVERIFY(std::none_of(plain.begin(), plain.end(), [](auto& v) { return v.group == LeverGroup::option; }));
    const auto options = *narrow_variants(all, {"option"});
    QVERIFY(options.size() > 3);
    const auto wrong = narrow_variants(all, {"backend:sagee"});
    QVERIFY(!wrong && wrong.error().find("backend:sage") != std::string::npos);
  }

  void shards_share_the_list_out() {
    const auto all = variants_of(*engine_on("rtx-3090"), {});
    std::multiset<std::string> met;
    for (int i = 1; i <= 4; ++i) {
      const auto part = shard_of(all, {i, 4});
      QCOMPARE(part.front().name, std::string("baseline"));
      for (std::size_t at = 1; at < part.size(); ++at) met.insert(part[at].name);
      QVERIFY(part.size() - 1 <= all.size() / 4 + 1);
    }
    QCOMPARE(met.size(), all.size() - 1);
    for (std::size_t i = 1; i < all.size(); ++i) QCOMPARE(met.count(all[i].name), std::size_t{1});
    QCOMPARE(*read_shard("2/8"), (LeverShard{2, 8}));
    for (const char* text : {"", "0/4", "5/4", "2", "a/b", "1/4x", "-1/4", "/"}) QVERIFY2(!read_shard(text), text);
  }

  void a_variant_starts_from_a_reset_state() {
    const auto given = engine_on("rtx-3090", {{"sdp_overrides", OptionList{"SDNQ attention"}},
                                              {"sparse_attention_enabled", true},
                                              {"sdp_options", OptionList{"Math"}},
                                              {"hf_attention", std::string("sage")},
                                              {"sdnq_attention_smooth_k", false}});
    AttentionChoices choices = given->attention();
    choices.per_role[Role::transformer] = "sage";
    QVERIFY(given->set_attention(choices).has_value());
    const auto exact = *lever_engine(*given, {.name = "baseline"});
    QCOMPARE(exact->plan()->chain(), std::string("sdpa"));
    QCOMPARE(exact->values().boolean("sparse_attention_enabled"), false);
    QCOMPARE(exact->values().list("sdp_options").size(), std::size_t{3});
    QVERIFY(exact->attention() == AttentionChoices{});
    QCOMPARE(exact->values().boolean("sdnq_attention_smooth_k", true), false);  // no lever: as it was given
    const auto as_set = *lever_engine(*given, lever_variants(*given, false).back());
    QCOMPARE(as_set->plan()->chain(), given->plan()->chain());
    QVERIFY(as_set->attention() == given->attention());
    const OptionValues before = given->values();
    const OptionValues after = as_set->values();
    for (const auto& [key, value] : before.all()) QVERIFY2(same_value(*after.find(key), value), key.c_str());
  }

  void the_baseline_has_the_bits_of_a_plain_run() {
    const std::string text = "q[1,2,192,64] fp16";
    const auto engine = engine_on("rtx-3090");
    const LeverResult result = measured(*job_of(text, 7), *engine, {"backend:flash"});
    const CallSchedule schedule = make_schedule(*parse_call(text));
    const CallTensors tensors = generate(schedule.distinct[0].call, 7, 0);
    Pipe pipe{schedule.pipeline, {}, {}};
    const auto plain = engine_on("rtx-3090");
    auto scope = plain->begin_job(pipe, 1, nullptr, false);
    QVERIFY(scope->attention(tensors.call).failure.empty());
    BitsHash hash;
    hash.add({tensors.output.data(), tensors.output.size()});
    QCOMPARE(result.baseline()->measure.hash, hash.text());
    QCOMPARE(result.baseline()->measure.baseline_hash, hash.text());
    QCOMPARE(result.find("backend:flash")->measure.baseline_hash, hash.text());
  }

  void the_baseline_of_a_picture_is_the_plain_picture() {
    const auto engine = engine_on("rtx-3090");
    const auto job = *make_lever_job(model_, picture());
    const LeverResult result = measured(*job, *engine, {"backend:flex", "kernels:Math", "compiled"});
    const auto plain_engine = engine_on("rtx-3090");
    const auto plain = *ShapesJob::make(model_, picture());
    QVERIFY(plain->run({*plain_engine, nullptr, true, {}, {}}).has_value());
    BitsHash hash;
    hash.add(std::as_bytes(std::span(plain->result()->picture.rgb)));
    QCOMPARE(result.baseline()->measure.hash, hash.text());
    QVERIFY(std::isinf(result.baseline()->measure.picture->psnr));
    const LeverRow& compiled = *result.find("compiled");
    QCOMPARE(compiled.measure.hash, hash.text());
    QVERIFY(model_->compiled_sites().empty());
    for (const LeverRow& row : result.rows) {
      const auto roles = row.roles();
      QCOMPARE(roles.size(), std::size_t{3});
      QCOMPARE(roles[0].calls, 1);
      QCOMPARE(roles[1].calls, 2 * 2);
      for (const LeverRole& role : roles) QVERIFY(role.seconds > 0.0 && role.baseline_seconds > 0.0);
      QVERIFY(row.seconds() >= row.attention_seconds());
    }
  }

  void errors_are_those_that_a_comparison_finds() {
    const std::string text = "q[2,2,160,64] bf16";
    const auto engine = engine_on("rtx-3090");
    const LeverResult result = measured(*job_of(text, 3), *engine, {"backend:sage", "backend:flash"});
    const auto a = engine_on("rtx-3090");
    const auto b = engine_on("rtx-3090", {{"sdp_overrides", OptionList{"Sage attention"}}});
    CompareOptions options;
    options.seed = 3;
    const auto compared = compare_chains(make_schedule(*parse_call(text)), *a, *b, options);
    const LeverRow& sage = *result.find("backend:sage");
    QCOMPARE(sage.worst_relative_l1(), compared->rows[0].error.relative_l1);
    QCOMPARE(sage.worst_cosine(), compared->rows[0].error.cosine);
    QVERIFY(sage.worst_relative_l1() > 0.0);
    const LeverRow& flash = *result.find("backend:flash");
    QCOMPARE(flash.worst_cosine(), 1.0);
    QCOMPARE(result.baseline()->worst_relative_l1(), 0.0);
  }

  void memory_is_the_largest_calls_tensors_and_kernel() {
    const auto engine = engine_on("rtx-3090");
    const LeverResult result = measured(*job_of("q[1,2,256,64] fp16"), *engine, {"kernels:Math"});
    const std::int64_t tensors = 4 * (1 * 2 * 256 * 64) * 2;
    QCOMPARE(result.find("kernels:Math")->measure.memory_bytes, tensors + 1 * 2 * 256 * 256 * 4);
    QVERIFY(result.baseline()->measure.memory_bytes < result.find("kernels:Math")->measure.memory_bytes);
    for (const LeverRow& row : result.rows) {
      if (row.measure.host_bytes) QVERIFY(*row.measure.host_bytes >= tensors);
    }
  }

  void a_variant_that_does_nothing_or_cannot_run_says_why_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("variant");
    QTest::addColumn<QString>("state");
    QTest::addColumn<QString>("reason");
    const QString plain = "q[1,2,128,64] fp16";
    QTest::newRow("platform") << plain << "backend:triton"
                              << "skipped"
                              << "not available on platform cuda";
    QTest::newRow("declines") << plain << "backend:sdnq"
                              << "skipped"
                              << "changes no route: sdnq declines every call";
    QTest::newRow("same kernel") << plain << "kernels:Flash"
                                 << "skipped"
                                 << "the same kernel serves every call";
    QTest::newRow("same routes") << plain << "chain"
                                 << "skipped"
                                 << "has the same routes as backend:sage";
    QTest::newRow("gate") << plain << "dispatcher:flash3"
                          << "skipped"
                          << "needs compute capability 9.0";
    QTest::newRow("as set") << plain << "as-set"
                            << "skipped"
                            << "changes no route";
    QTest::newRow("nobody serves") << "q[1,2,128,64] fp16 mask=bool"
                                   << "kernels:Flash"
                                   << "failed"
                                   << "could not be served: no enabled sdpa kernel takes this call";
    QTest::newRow("refused") << "q[1,2,128,64] fp16 mask=bool"
                             << "dispatcher:sage"
                             << "failed"
                             << "takes no attn_mask";
    QTest::newRow("dense") << "q[1,2,128,64] fp16 role=vae"
                           << "sparse:flex:30"
                           << "skipped"
                           << "the sparse stage leaves every call dense";
  }

  void a_variant_that_does_nothing_or_cannot_run_says_why() {
    QFETCH(QString, call);
    QFETCH(QString, variant);
    QFETCH(QString, state);
    QFETCH(QString, reason);
    const auto engine = engine_on("rtx-3090");
    const LeverResult result = measured(*job_of(call.toStdString()), *engine, {"backend", "*"});
    const LeverRow* row = result.find(variant.toStdString());
    QVERIFY(row != nullptr);
    QVERIFY2(row->reason.find(reason.toStdString()) != std::string::npos, row->reason.c_str());
    QCOMPARE(std::string(name_of(row->state)), state.toStdString());
    QVERIFY(row->measure.routes.empty());
  }

  void nothing_leaks_from_one_variant_into_the_next() {
    const auto engine = engine_on("rtx-3090");
    const auto job = job_of("q[1,2,320,64] fp32");
    const auto alone = measured(*job, *engine, {"backend:flex"});
    auto variants = variants_of(*engine, {"backend:flex", "dispatcher:flash", "sparse:flex:15", "kernels:Math"});
    std::reverse(variants.begin() + 1, variants.end());
    const auto after = measure_levers(*job, *engine, {.variants = variants, .repeat = 1});
    QCOMPARE(after->find("dispatcher:flash")->state, LeverState::failed);
    QVERIFY(after->find("sparse:flex:15")->worst_cosine() < 0.99);
    QCOMPARE(after->find("backend:flex")->measure.hash, alone.find("backend:flex")->measure.hash);
    QCOMPARE(after->baseline()->measure.hash, alone.baseline()->measure.hash);
    QVERIFY(!engine->job_running());
  }

  void a_variant_that_fails_holds_nothing_afterwards() {
    const auto engine = engine_on("rtx-3090");
    const auto job = job_of("q[1,8,4096,64] fp32");
    const auto variants = variants_of(*engine, {"dispatcher:flash"});
    const std::int64_t tensors = 4 * (1 * 8 * 4096 * 64) * 4;
    const auto fail_once = [&] {
      LeverRun run{.variants = variants, .repeat = 1, .before = attn::test::finished_baseline(*job, *engine, 1)};
      QCOMPARE(measure_levers(*job, *engine, run)->find("dispatcher:flash")->state, LeverState::failed);
    };
    fail_once();
    const HostPeak peak;
    for (int i = 0; i < 8; ++i) fail_once();
    if (peak.grown()) QVERIFY2(*peak.grown() < 3 * tensors, std::to_string(*peak.grown()).c_str());
    // A real one is seen, so the line above can fail.
    const HostPeak other;
    const HostBuffer held(static_cast<std::size_t>(4 * tensors));
    if (other.grown()) QVERIFY(*other.grown() > 3 * tensors && held.size() > 0);
  }

  void a_call_that_does_not_fit_fails_alone() {
    const auto engine = engine_on("rtx-3090");
    // The math kernel's score matrix is 4 TiB here; nothing else is computed either, as the tensors are no small thing.
    const auto job = job_of("q[1,1,1048576,1] fp16");
    const auto variants = variants_of(*engine, {"kernels:Math"});
    const auto result = measure_levers(*job, *engine,
                                       {.variants = {variants[0], variants[1]},
                                        .repeat = 1,
                                        .before = attn::test::finished_baseline(*job, *engine, 1)});
    QVERIFY2(result.has_value(), result ? "" : result.error().c_str());
    const LeverRow& math = *result->find("kernels:Math");
    QCOMPARE(math.state, LeverState::failed);
    QVERIFY2(math.reason.find("are free") != std::string::npos, math.reason.c_str());
  }

  void a_sparse_schedule_is_measured_at_both_budgets() {
    const auto library = attn::test::bundled_profiles();
    auto schedule = *make_schedule(**library.find("flux.1-dev"), {{"width", 256.0}, {"height", 256.0}, {"steps", 8.0}});
    // The denoiser alone is enough here.
    for (auto& pattern : schedule.patterns) {
      std::erase_if(pattern.calls, [&](auto index) { return schedule.distinct[index].role != Role::transformer; });
    }
    const auto job = make_lever_job(schedule, 0);
    const auto engine = engine_on("rtx-3090");
    const LeverResult result = measured(*job, *engine, {"sparse:flex:15+35x3", "sparse:flex:50"});
    std::map<double, std::int64_t> calls;
    for (const LeverRoute& route : result.find("sparse:flex:15+35x3")->measure.routes)
      calls[route.budget] += route.calls;
    QCOMPARE(calls.size(), std::size_t{2});
    QCOMPARE(calls[0.5], calls[0.15] * 3);  // 3 of 8 steps at each end
    const auto& steady = result.find("sparse:flex:50")->measure.routes;
    QCOMPARE(steady.size(), std::size_t{1});
    QCOMPARE(steady[0].calls, calls[0.5] + calls[0.15]);
    QCOMPARE(steady[0].backend, std::string("flex+sparse"));
    QVERIFY(result.find("sparse:flex:50")->worst_cosine() < 1.0);
  }

  void two_probes_agree_within_the_noise_that_they_state() {
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,128,64] fp16");
    for (const double unrest : {0.0, 0.01, 0.05, 0.2}) {
      attn::test::TimedJob first(*real, {{"sdpa", 1.0}, {"sage", 0.7}, {"flash", 0.98}}, unrest, 1);
      attn::test::TimedJob second(*real, {{"sdpa", 1.0}, {"sage", 0.7}, {"flash", 0.98}}, unrest, 2);
      LeverRun run{.variants = variants_of(*engine, {"backend:sage", "backend:flash"}), .repeat = 5};
      const auto a = *measure_levers(first, *engine, run);
      const auto b = *measure_levers(second, *engine, run);
      for (const LeverRow& row : a.rows) {
        if (row.state != LeverState::measured) continue;
        const LeverRow& other = *b.find(row.variant.name);
        const double noise = a.noise(row) + b.noise(other);
        QVERIFY(noise >= 2 * kLeastNoise && (unrest == 0.0 || noise > unrest));
        QVERIFY2(std::abs(row.relative_time() / other.relative_time() - 1.0) <= noise, row.variant.name.c_str());
        QCOMPARE(row.measure.hash, other.measure.hash);
        QCOMPARE(row.worst_relative_l1(), other.worst_relative_l1());
      }
    }
  }

  void a_stopped_run_goes_on_without_measuring_again() {
    const auto engine = engine_on("rtx-3090");
    const auto real = job_of("q[1,2,128,64] fp16");
    CountedJob job(*real);
    const auto variants = variants_of(*engine, {"backend:sage", "backend:flash", "backend:flex", "kernels:Math"});
    std::stop_source stop;
    LeverRun run{.variants = variants, .repeat = 1, .stop = stop.get_token()};
    run.row_done = [&stop](const LeverResult& rows) -> Expected<void> {
      if (rows.rows.size() == 2) stop.request_stop();
      return {};
    };
    const auto half = *measure_levers(job, *engine, run);
    QCOMPARE(half.outcome, JobOutcome::stopped);
    QCOMPARE(half.rows.size(), std::size_t{2});
    QCOMPARE(half.missing(), variants.size() - 2);
    QCOMPARE(job.measured(), 2);
    LeverRun rest{.variants = variants, .repeat = 1, .before = half};
    const auto whole = *measure_levers(job, *engine, rest);
    QCOMPARE(whole.outcome, JobOutcome::finished);
    QCOMPARE(job.measured(), static_cast<int>(variants.size()));
    QVERIFY(whole.rows[1].measure == half.rows[1].measure);
    std::vector<std::string> order;
    for (const LeverRow& row : whole.rows) order.push_back(row.variant.name);
    QCOMPARE(order, names_of(variants));

    rest.before.header.identity = "other";
    QVERIFY(!measure_levers(job, *engine, rest));
    rest.before = half;
    rest.before.rows[0].measure.baseline_hash = "other";
    const auto changed = measure_levers(job, *engine, rest);
    QVERIFY(!changed && changed.error().find("another result") != std::string::npos);
    rest.before = half;
    rest.repeat = 2;
    QVERIFY(!measure_levers(job, *engine, rest));
  }

  void a_stop_inside_a_variant_leaves_no_row_of_it() {
    const auto engine = engine_on("rtx-3090");
    const auto job = *make_lever_job(model_, picture());
    std::stop_source stop;
    LeverRun run{.variants = variants_of(*engine, {"backend:flex"}), .repeat = 1, .stop = stop.get_token()};
    run.progress = [&stop](const LeverProgress& progress) {
      // Its first word: a fast machine may be done before it says a second one.
      if (progress.variant == "backend:flex") stop.request_stop();
    };
    const auto result = *measure_levers(*job, *engine, run);
    QCOMPARE(result.outcome, JobOutcome::stopped);
    QCOMPARE(result.rows.size(), std::size_t{1});
    QVERIFY(!engine->job_running());
  }

  void an_error_of_row_done_ends_the_run() {
    const auto engine = engine_on("rtx-3090");
    LeverRun run{.variants = variants_of(*engine, {"backend:sage"}), .repeat = 1};
    run.row_done = [](const LeverResult&) -> Expected<void> { return fail("the disk is full"); };
    const auto result = measure_levers(*job_of("q[1,1,64,64] fp16"), *engine, run);
    QVERIFY(!result && result.error() == "the disk is full");
  }

  void nobody_on_the_front_is_beaten_data() {
    using Points = std::vector<std::pair<double, double>>;
    QTest::addColumn<Points>("points");
    QTest::addColumn<std::vector<std::size_t>>("front");
    QTest::newRow("baseline alone") << Points{{1, 0}} << std::vector<std::size_t>{0};
    QTest::newRow("one faster") << Points{{1, 0}, {0.5, 0.1}} << std::vector<std::size_t>{1, 0};
    QTest::newRow("one worse") << Points{{1, 0}, {0.5, 0.1}, {0.6, 0.2}} << std::vector<std::size_t>{1, 0};
    QTest::newRow("as fast, closer") << Points{{1, 0}, {0.5, 0.1}, {0.5, 0.05}} << std::vector<std::size_t>{2, 0};
    QTest::newRow("exact and faster") << Points{{1, 0}, {0.9, 0}, {0.5, 0.1}} << std::vector<std::size_t>{2, 1};
    QTest::newRow("slower and exact") << Points{{1, 0}, {1.2, 0}} << std::vector<std::size_t>{0};
  }

  void nobody_on_the_front_is_beaten() {
    using Points = std::vector<std::pair<double, double>>;
    QFETCH(Points, points);
    QFETCH(std::vector<std::size_t>, front);
    LeverResult result;
    for (std::size_t i = 0; i < points.size(); ++i) {
      result.rows.push_back(made_up(i == 0 ? "baseline" : "v" + std::to_string(i), points[i].first, points[i].second));
    }
    QCOMPARE(pareto_front(result), front);
    result.rows.push_back(made_up("failed", 0.01, 0.0));
    result.rows.back().state = LeverState::failed;
    QCOMPARE(pareto_front(result), front);
  }

  void a_result_that_is_not_finite_is_the_worst() {
    LeverRow row = made_up("v", 0.1, 0.0);
    row.measure.routes[0].not_finite = 3;
    QCOMPARE(row.worst_cosine(), 0.0);
    QVERIFY(std::isinf(row.error()));
    LeverResult result;
    result.rows = {made_up("baseline", 1.0, 0.0), row};
    QCOMPARE(result.noise(row), kLeastNoise);
  }
};

QTEST_GUILESS_MAIN(LeversTest)
#include "levers_test.moc"
