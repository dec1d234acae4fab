// SPDX-License-Identifier: GPL-3.0-or-later
// Settings, the rebuild flow, the generate-time gate, jobs and bypass.
#include "core/engine/engine.h"

#include "support/kernels.h"

#include <QtTest>
#include <stdexcept>

using namespace attn;

namespace {

Registry small_registry() {
  Registry registry;
  registry.set_original(test::reference_original());
  registry.set_original([] {
    BackendSpec spec = test::reference_original();
    spec.options.push_back({.key = "sdp_options",
                            .label = "SDP kernels",
                            .type = OptionType::choices,
                            .fallback = OptionList{"Flash", "Memory", "Math"},
                            .choices = {"Flash", "Memory", "Math"},
                            .help = "kernels",
                            .section = "SDP Attention"});
    return spec;
  }());
  BackendSpec one = test::reference_spec("one", "One attention", 20);
  one.options.push_back({.key = "one_group",
                         .label = "Group",
                         .type = OptionType::integer,
                         .fallback = std::int64_t{4},
                         .minimum = 1,
                         .maximum = 64,
                         .help = "group",
                         .section = "One"});
  BackendSpec two = test::reference_spec("two", "Two attention", 10);
  two.options.push_back({.key = "two_rate",
                         .label = "Rate",
                         .type = OptionType::real,
                         .fallback = 0.5,
                         .minimum = 0.01,
                         .maximum = 8.0,
                         .maximum_per_memory = 1.0,
                         .unit = "GiB",
                         .help = "rate",
                         .section = "Two",
                         .applies = Applies::live});
  (void)registry.add(std::move(one));
  (void)registry.add(std::move(two));
  return registry;
}

const OptionList kOne{"One attention"};
const OptionList kBoth{"One attention", "Two attention"};

PipelineInfo flux() { return {"FluxPipeline", "FluxTransformer2DModel", std::nullopt, "f1"}; }

}  // namespace

class EngineTest : public QObject {
  Q_OBJECT
 private slots:
  void aChangeWhileIdleRebuildsAtOnce();
  void tenChangesDuringAJobAreAppliedAfterItInOneRebuild();
  void undoingAnEditBeforeTheEndRebuildsNothing();
  void liveOptionsTakeEffectWithoutARebuild();
  void aWrongValueChangesNothing();
  void setAllIsAllOrNothing();
  void rebuildingKeysAreDerivedFromTheRegistry();
  void aJobThatThrowsLeavesContextGateAndChainUsable();
  void aSecondJobIsRefused();
  void theGateAppliesOnceAndPipeSwitchesCarryTheStamps();
  void theBypassPutsTheOriginalOverTheRouterAndRestoresItOnAThrow();
  void aNewTargetMovesDefaultsAndKeepsChoices();
  void revertPutsPendingSettingsBack();
  void reportSaysWhatIsInForceAndWhatIsPending();
  void listenersMayAskTheEngine();
};

void EngineTest::aChangeWhileIdleRebuildsAtOnce() {
  std::vector<LogLine> log;
  Engine engine(small_registry(), test::target_of("cuda"), [&](const LogLine& line) { log.push_back(line); });
  QCOMPARE(engine.plan()->chain(), std::string("sdpa"));
  QVERIFY(engine.set(keys::overrides, kBoth).value());
  QCOMPARE(engine.plan()->chain(), std::string("one>two>sdpa"));
  QCOMPARE(engine.rebuilds(), std::uint64_t{2});
  QCOMPARE(log.back().text,
           std::string("Torch attention: chain=one>two>sdpa overrides=['One attention', 'Two attention'] "
                       "backend=cuda sparse=False"));
  QVERIFY(!engine.set(keys::overrides, OptionList{"Two attention", "One attention"}).value());
  QCOMPARE(engine.rebuilds(), std::uint64_t{2});
}

void EngineTest::tenChangesDuringAJobAreAppliedAfterItInOneRebuild() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  const std::uint64_t before = engine.rebuilds();
  {
    auto job = engine.begin_job(pipe, 4, nullptr, false);
    QVERIFY(job);
    for (std::int64_t i = 0; i < 9; ++i) QVERIFY(engine.set("one_group", 5 + i).value());
    QVERIFY(engine.set(keys::overrides, kOne).value());
    QCOMPARE(engine.rebuilds(), before);
    QCOMPARE(engine.plan()->chain(), std::string("sdpa"));
    QVERIFY(engine.is_pending());
    QCOMPARE(engine.pending().size(), std::size_t{2});
    QCOMPARE(engine.wanted_plan()->chain(), std::string("one>sdpa"));
    QCOMPARE(job->attention(test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16})).selected, std::string_view("sdpa"));
  }
  QCOMPARE(engine.rebuilds(), before + 1);
  QCOMPARE(engine.plan()->chain(), std::string("one>sdpa"));
  QVERIFY(!engine.is_pending());
}

void EngineTest::undoingAnEditBeforeTheEndRebuildsNothing() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  const std::uint64_t before = engine.rebuilds();
  {
    auto job = engine.begin_job(pipe, 4, nullptr, false);
    QVERIFY(engine.set(keys::overrides, kOne).value());
    QVERIFY(engine.set(keys::overrides, OptionList{}).value());
    QVERIFY(!engine.is_pending());
  }
  QCOMPARE(engine.rebuilds(), before);
}

void EngineTest::liveOptionsTakeEffectWithoutARebuild() {
  Engine engine(small_registry(), test::target_of("cuda"));
  const std::uint64_t before = engine.rebuilds();
  QVERIFY(engine.set("two_rate", 2.0).value());
  QCOMPARE(engine.rebuilds(), before);
  QCOMPARE(engine.values().real("two_rate"), 2.0);
  QVERIFY(engine.pending().empty());
}

void EngineTest::aWrongValueChangesNothing() {
  Engine engine(small_registry(), test::target_of("cuda"));
  const auto wrong = engine.set("one_group", std::int64_t{65});
  QCOMPARE(wrong.error(), std::string("one_group cannot be \"65\"; it takes a whole number from 1 to 64"));
  QCOMPARE(engine.values().integer("one_group"), std::int64_t{4});
  QVERIFY(engine.set("no_such_key", true).error().find("no option \"no_such_key\"") != std::string::npos);
  QVERIFY(!engine.set(keys::overrides, OptionList{"Three attention"}));
  QVERIFY(!engine.set("one_group", std::string("4")));
  QVERIFY(!engine.set("two_rate", std::numeric_limits<double>::quiet_NaN()));
}

void EngineTest::setAllIsAllOrNothing() {
  Engine engine(small_registry(), test::target_of("cuda"));
  const std::uint64_t before = engine.rebuilds();
  QVERIFY(!engine.set_all({{"one_group", std::int64_t{8}}, {"two_rate", 2.0}, {"sdp_options", OptionList{"Nope"}}}));
  QCOMPARE(engine.values().integer("one_group"), std::int64_t{4});
  QCOMPARE(engine.values().real("two_rate"), 0.5);
  QCOMPARE(engine.rebuilds(), before);
  QVERIFY(engine.set_all({{"one_group", std::int64_t{8}}, {std::string(keys::overrides), kOne}}).value());
  QCOMPARE(engine.rebuilds(), before + 1);
}

void EngineTest::rebuildingKeysAreDerivedFromTheRegistry() {
  const Registry registry = small_registry();
  const auto keys = rebuilding_keys(option_specs(registry, test::target_of("cuda")));
  const std::vector<std::string> expected{"sdp_overrides",
                                          "sdp_options",
                                          "one_group",
                                          "sparse_attention_enabled",
                                          "sparse_attention_budget",
                                          "sparse_attention_min_tokens",
                                          "sparse_attention_schedule_steps",
                                          "sparse_attention_schedule_bump",
                                          "sparse_attention_head_shared",
                                          "sparse_attention_exclude"};
  QCOMPARE(keys, expected);
}

void EngineTest::aJobThatThrowsLeavesContextGateAndChainUsable() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  try {
    auto job = engine.begin_job(pipe, 4, nullptr, false);
    QVERIFY(job);
    const RoleScope scope(job->context(), Role::te);
    QVERIFY(engine.set(keys::overrides, kOne).value());
    throw std::runtime_error("in the middle");
  } catch (const std::runtime_error&) {
  }
  QVERIFY(!engine.job_running());
  QVERIFY(!engine.report().context.active);
  QCOMPARE(engine.plan()->chain(), std::string("one>sdpa"));
  auto next = engine.begin_job(pipe, 2, nullptr, false);
  QVERIFY(next);
  QVERIFY(next->context().active());
  QCOMPARE(next->context().role(), Role::transformer);
  QCOMPARE(next->attention(test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16})).selected, std::string_view("one"));
}

void EngineTest::aSecondJobIsRefused() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  auto job = engine.begin_job(pipe, 4, nullptr, false);
  QVERIFY(job);
  auto second = engine.begin_job(pipe, 4, nullptr, false);
  QVERIFY(!second);
  QCOMPARE(second.error(), std::string("a job is running already; stop it or wait for its end"));
}

void EngineTest::theGateAppliesOnceAndPipeSwitchesCarryTheStamps() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  QVERIFY(engine.generate_time_gate(pipe));
  QVERIFY(!engine.generate_time_gate(pipe));
  Pipe image_to_image = switch_pipe(pipe, {"FluxImg2ImgPipeline", "FluxTransformer2DModel", std::nullopt, "f1"});
  QCOMPARE(image_to_image.info.pipeline_class, std::string("FluxImg2ImgPipeline"));
  QVERIFY(!engine.generate_time_gate(image_to_image));
  QVERIFY(engine.set(keys::overrides, kBoth).value());
  QVERIFY(engine.generate_time_gate(image_to_image));
  QVERIFY(engine.generate_time_gate(pipe));
  QVERIFY(engine.set(keys::method, std::string("Default")).value());
  QVERIFY(engine.generate_time_gate(pipe));
  QCOMPARE(*pipe.stamps.current_attn_name, std::string("Default"));
}

void EngineTest::theBypassPutsTheOriginalOverTheRouterAndRestoresItOnAThrow() {
  Engine engine(small_registry(), test::target_of("cuda"));
  QVERIFY(engine.set(keys::overrides, kOne).value());
  Pipe pipe{flux(), {}};
  auto job = engine.begin_job(pipe, 4, nullptr, false);
  const AttentionCall call = test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16});
  QCOMPARE(job->attention(call).executed, std::string_view("one"));
  try {
    const BypassScope outer(*job);
    {
      const BypassScope inner(*job);
      QCOMPARE(job->attention(call).executed, std::string_view("sdpa"));
    }
    QCOMPARE(job->attention(call).executed, std::string_view("sdpa"));
    throw std::runtime_error("in the body");
  } catch (const std::runtime_error&) {
  }
  QCOMPARE(job->attention(call).executed, std::string_view("one"));
}

void EngineTest::aNewTargetMovesDefaultsAndKeepsChoices() {
  Registry registry = small_registry();
  BackendSpec dynamic = test::reference_spec("dynamic", "Dynamic attention", 1);
  dynamic.terminal = true;
  QVERIFY(registry.add(std::move(dynamic)));
  Engine engine(std::move(registry), test::target_of("cuda"));
  QVERIFY(engine.set("one_group", std::int64_t{8}).value());
  engine.set_target(test::target_of("zluda"));
  QCOMPARE(engine.plan()->chain(), std::string("dynamic"));
  QCOMPARE(engine.values().list("sdp_options"), OptionList{"Math"});
  QCOMPARE(engine.values().integer("one_group"), std::int64_t{8});
  Target old_amd = test::target_of("rocm");
  old_amd.gfx = "gfx1030";
  engine.set_target(old_amd);
  QCOMPARE(engine.plan()->chain(), std::string("dynamic"));
  old_amd.gfx = "gfx1100";
  engine.set_target(old_amd);
  QCOMPARE(engine.plan()->chain(), std::string("sdpa"));
  Target large = test::target_of("cuda");
  large.memory_bytes = std::int64_t{24} << 30;
  engine.set_target(large);
  QVERIFY(engine.set("two_rate", 24.0).value());
}

void EngineTest::revertPutsPendingSettingsBack() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  const std::uint64_t before = engine.rebuilds();
  {
    auto job = engine.begin_job(pipe, 4, nullptr, false);
    QVERIFY(engine.set(keys::overrides, kOne).value());
    QVERIFY(engine.set("one_group", std::int64_t{9}).value());
    engine.set_target(test::target_of("rocm"));
    QCOMPARE(engine.pending().size(), std::size_t{3});
    engine.revert_pending();
    QVERIFY(!engine.is_pending());
    QCOMPARE(engine.values().integer("one_group"), std::int64_t{4});
    QCOMPARE(engine.target().name, std::string("cuda"));
  }
  QCOMPARE(engine.rebuilds(), before);
}

void EngineTest::reportSaysWhatIsInForceAndWhatIsPending() {
  Engine engine(small_registry(), test::target_of("cuda"));
  Pipe pipe{flux(), {}};
  auto job = engine.begin_job(pipe, 4, nullptr, false);
  QVERIFY(engine.set(keys::overrides, kOne).value());
  const EngineReport report = engine.report();
  QCOMPARE(report.chain, std::string("sdpa"));
  QVERIFY(report.overrides.empty());
  QVERIFY(report.context.active);
  QCOMPARE(report.context.model->pipeline, std::string("FluxPipeline"));
  QCOMPARE(report.pending.size(), std::size_t{1});
  QCOMPARE(report.pending.front().key, std::string("sdp_overrides"));
  QCOMPARE(report.backends.size(), std::size_t{2});
}

void EngineTest::listenersMayAskTheEngine() {
  Engine engine(small_registry(), test::target_of("cuda"));
  std::vector<std::string> seen;
  auto token = engine.subscribe([&](const EngineEvent& event) {
    if (event.kind == EngineEvent::Kind::chain_rebuilt)
      seen.push_back(event.old_chain + " -> " + engine.plan()->chain());
  });
  QVERIFY(engine.set(keys::overrides, kOne).value());
  token.reset();
  QVERIFY(engine.set(keys::overrides, kBoth).value());
  QCOMPARE(seen, std::vector<std::string>{"sdpa -> one>sdpa"});
}

QTEST_GUILESS_MAIN(EngineTest)
#include "engine_test.moc"
