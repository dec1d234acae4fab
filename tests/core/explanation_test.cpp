// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/explanation.h"

#include "support/kernels.h"

#include <QtTest>

using namespace attn;

namespace {

/// A stage that takes every call, to see how the record speaks of it.
class TakesAll final : public SelectionStage {
 public:
  double budget_at(std::int32_t, std::int32_t) const noexcept override { return 0.3; }
  StageDecision decide(const AttentionCall&, const GenerationContext&, Capabilities, const AttentionKernel*) override {
    selection_.density = 0.4;
    return {&selection_, {}, 0.3};
  }

 private:
  BlockSelection selection_;
};

Registry registry_of() {
  Registry registry;
  registry.set_original(test::reference_original());
  BackendSpec high = test::reference_spec("high", "High attention", 50);
  high.constraints.head_dims = {64, 96, 128};
  high.constraints.allow_mask = false;
  BackendSpec mid = test::reference_spec("mid", "Mid attention", 40);
  mid.platforms = {"rocm"};
  BackendSpec bad = test::reference_spec("bad", "Bad attention", 30);
  bad.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> { return fail("No module named 'bad'"); };
  BackendSpec low = test::reference_spec("low", "Low attention", 20);
  low.capabilities.block_mask = true;
  for (BackendSpec* spec : {&high, &mid, &bad, &low}) (void)registry.add(std::move(*spec));
  return registry;
}

std::shared_ptr<const Plan> plan_of(const Registry& registry, std::vector<std::string> labels) {
  PlanRequest request;
  request.labels = std::move(labels);
  request.target = test::target_of("cuda");
  return Plan::build(registry, std::move(request));
}

std::vector<std::string> lines_of(const Explanation& e) {
  std::vector<std::string> lines;
  for (const BackendVerdict& v : e.entries) {
    lines.push_back(v.backend +
                    (v.serves    ? " serves"
                     : v.accepts ? " accepts"
                                 : " declines") +
                    ", " + std::string(name_of(v.state)) + (v.reason.empty() ? "" : ": " + v.reason));
  }
  return lines;
}

}  // namespace

class ExplanationTest : public QObject {
  Q_OBJECT
 private slots:
  void everyRegisteredBackendHasAVerdictInTheRoutersOrder();
  void theReasonNamesWhyTheServingBackendServes();
  void theRecordAgreesWithTheRouter();
  void theStagesDecisionIsPartOfTheRecord();
  void whatWouldHaveToChangeIsNamedForEachBackend();
  void mixedCausalConventionsAreWarnedOf();
};

void ExplanationTest::everyRegisteredBackendHasAVerdictInTheRoutersOrder() {
  const Registry registry = registry_of();
  const auto plan = plan_of(registry, {"High attention", "Mid attention", "Bad attention"});
  const auto record = explain_route(registry, *plan, test::plain_call({2, 8, 64, 160}, {2, 8, 64, 160}), {}, nullptr);
  const std::vector<std::string> expected{
      "high declines, ready: head_dim 160 not in {64,96,128}",
      "mid accepts, unavailable: not available on platform cuda: it needs rocm",
      "bad accepts, failed: No module named 'bad'",
      "low accepts, disabled: not among the overrides",
      "sdpa serves, ready",
  };
  QCOMPARE(lines_of(record), expected);
  QCOMPARE(record.chain, std::string("high>sdpa"));
  QCOMPARE(record.requested, std::string("high"));
  QCOMPARE(record.selected, std::string("sdpa"));
}

void ExplanationTest::theReasonNamesWhyTheServingBackendServes() {
  const Registry registry = registry_of();
  const AttentionCall call = test::plain_call({2, 8, 64, 64}, {2, 8, 64, 64});
  QCOMPARE(explain_route(registry, *plan_of(registry, {}), call, {}, nullptr).reason,
           std::string("no override is active, so the original sdpa serves every call"));
  QCOMPARE(explain_route(registry, *plan_of(registry, {"High attention", "Low attention"}), call, {}, nullptr).reason,
           std::string("first in chain high>low>sdpa and every check holds"));
  const AttentionCall wide = test::plain_call({2, 8, 64, 160}, {2, 8, 64, 160});
  QCOMPARE(explain_route(registry, *plan_of(registry, {"High attention", "Low attention"}), wide, {}, nullptr).reason,
           std::string("first in chain high>low>sdpa whose checks all hold"));
}

void ExplanationTest::theRecordAgreesWithTheRouter() {
  const Registry registry = registry_of();
  const auto plan = plan_of(registry, {"High attention", "Low attention"});
  Router router(plan, nullptr);
  for (const std::int64_t dim : {40, 64, 96, 160}) {
    for (const Device device : {Device::cpu(), Device::accel()}) {
      const AttentionCall call = test::plain_call({1, 4, 32, dim}, {1, 4, 32, dim}, DType::float16, device);
      QCOMPARE(explain_route(registry, *plan, call, {}, nullptr).selected, std::string(router(call).selected));
    }
  }
}

void ExplanationTest::theStagesDecisionIsPartOfTheRecord() {
  const Registry registry = registry_of();
  const auto plan = plan_of(registry, {"High attention", "Low attention"});
  TakesAll stage;
  const auto sparse = explain_route(registry, *plan, test::plain_call({1, 4, 32, 40}, {1, 4, 32, 40}), {}, &stage);
  QVERIFY(sparse.sparse && sparse.stage.consulted && sparse.stage.selects);
  QCOMPARE(sparse.stage.density, 0.4);
  // Only the first accepting backend counts: one that takes no block mask keeps the call dense.
  const auto dense = explain_route(registry, *plan, test::plain_call({1, 4, 32, 64}, {1, 4, 32, 64}), {}, &stage);
  QVERIFY(!dense.sparse && !dense.stage.consulted);
  QCOMPARE(dense.stage.reason, std::string("high takes no block mask"));
}

void ExplanationTest::whatWouldHaveToChangeIsNamedForEachBackend() {
  const Registry registry = registry_of();
  const auto plan = plan_of(registry, {"High attention", "Mid attention", "Bad attention"});
  AttentionCall call = test::plain_call({2, 8, 64, 160}, {2, 8, 64, 160});
  call.attn_mask = TensorView::contiguous({64, 64}, DType::boolean);
  const auto record = explain_route(registry, *plan, call, {}, nullptr);
  const std::vector<std::string> expected{
      "high: the call would need attn_mask none (is bool); head_dim 64, 96, 128 (is 160)",
      "mid: choose another target, it is not available on platform cuda: it needs rocm",
      "bad: it failed to prepare: No module named 'bad'",
      "low: enable \"Low attention\" in the overrides",
  };
  QCOMPARE(record.to_move, expected);
}

void ExplanationTest::mixedCausalConventionsAreWarnedOf() {
  Registry registry = registry_of();
  BackendSpec flash = test::reference_spec("flash", "Flash attention", 60);
  flash.constraints.causal_top_left = false;
  QVERIFY(registry.add(std::move(flash)));
  const auto plan = plan_of(registry, {"Flash attention"});
  AttentionCall call = test::plain_call({1, 1, 2, 64}, {1, 1, 5, 64});
  call.is_causal = true;
  const auto record = explain_route(registry, *plan, call, {}, nullptr);
  QCOMPARE(record.entries.front().reason, std::string("bottom-right causal, Sq != Sk"));
  QCOMPARE(record.warnings.size(), std::size_t{1});
  call = test::plain_call({1, 1, 5, 64}, {1, 1, 5, 64});
  call.is_causal = true;
  QCOMPARE(explain_route(registry, *plan, call, {}, nullptr).selected, std::string("flash"));
}

QTEST_GUILESS_MAIN(ExplanationTest)
#include "explanation_test.moc"
