// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/sweep.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/call/call_text.h"
#include "core/engine/engine.h"
#include "core/layout/layout_reader.h"
#include "support/oracle.h"

#include <QtTest>
#include <cmath>
#include <thread>

using namespace attn;
using namespace attn::app;
using attn::test::q;

class SparseSweepTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    engine_ = std::make_unique<Engine>(make_registry(), *find_target("rtx-4090"));
    QVERIFY(engine_->set(keys::overrides, OptionList{"Flex attention"}).has_value());
    plan_ = engine_->plan();
    StructureOptions structure;
    structure.layout = prefix_layout(768, 128);
    auto tensors = structured_tensors(parse_call("q[1,4,768,32] bf16")->call, structure);
    QVERIFY(tensors.has_value());
    tensors_ = *std::move(tensors);
  }

  void the_defaults_are_the_stated_budgets() {
    QCOMPARE(default_budgets(), (std::vector<double>{0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50, 0.70, 1.0}));
  }

  void a_row_for_each_budget_with_both_curves() {
    SweepOptions options;
    options.layout = prefix_layout(768, 128);
    const auto result = sweep_budgets(tensors_.call, entry(), options);
    QVERIFY2(result.has_value(), result ? "" : result.error().c_str());
    QCOMPARE(result->outcome, JobOutcome::finished);
    QCOMPARE(q(result->backend), "flex");
    QCOMPARE(result->query_tiles, 6);
    QCOMPARE(result->key_tiles, 12);
    QCOMPARE(result->pinned_tiles, 1 * 12 + 5 * 2);
    QVERIFY(result->dense_seconds > 0.0);
    QCOMPARE(result->rows.size(), options.budgets.size());
    for (std::size_t i = 0; i < result->rows.size(); ++i) {
      const SweepRow& row = result->rows[i];
      QCOMPARE(row.budget, options.budgets[i]);
      QCOMPARE(row.adaptive.budget, options.budgets[i]);
      QVERIFY(row.radial.has_value());
      QCOMPARE(row.radial->density, row.adaptive.density);
      QCOMPARE(row.speedup, result->dense_seconds / row.adaptive.seconds());
      QCOMPARE(row.radial_speedup, result->dense_seconds / row.radial->seconds());
      if (i > 0) QVERIFY(row.adaptive.density >= result->rows[i - 1].adaptive.density);
    }
    QVERIFY(result->rows.back().adaptive.dense);
  }

  void rounds_give_the_same_quality_and_are_counted() {
    SweepOptions options;
    options.budgets = {0.3, 0.1};
    options.radial = false;
    const auto once = sweep_budgets(tensors_.call, entry(), options);
    options.rounds = 3;
    std::int64_t last = -1;
    options.progress = [&last](const JobProgress& progress, const SweepResult& so_far) {
      QVERIFY(progress.calls_done > last);
      last = progress.calls_done;
      QCOMPARE(progress.calls_total, 9);
      QVERIFY(so_far.rows.size() <= 2);
      QCOMPARE(progress.seconds_left.has_value(), progress.calls_done > 0);
    };
    const auto thrice = sweep_budgets(tensors_.call, entry(), options);
    QVERIFY(once.has_value() && thrice.has_value());
    QCOMPARE(last, 9);
    QCOMPARE(once->rounds, 1);
    QCOMPARE(thrice->rounds, 3);
    QCOMPARE(thrice->rows.size(), std::size_t{2});
    for (std::size_t i = 0; i < 2; ++i) {
      QVERIFY(!thrice->rows[i].radial.has_value());
      QCOMPARE(thrice->rows[i].adaptive.mass_kept, once->rows[i].adaptive.mass_kept);
      QCOMPARE(thrice->rows[i].adaptive.relative_l1, once->rows[i].adaptive.relative_l1);
    }
  }

  void a_stop_keeps_the_rows_that_are_there() {
    std::stop_source stop;
    SweepOptions options;
    options.stop = stop.get_token();
    options.progress = [&stop](const JobProgress&, const SweepResult& so_far) {
      if (so_far.rows.size() == 2) stop.request_stop();
    };
    const auto result = sweep_budgets(tensors_.call, entry(), options);
    QVERIFY(result.has_value());
    QCOMPARE(result->outcome, JobOutcome::stopped);
    QCOMPARE(result->rows.size(), std::size_t{2});
    QCOMPARE(result->rounds, 0);
    QVERIFY(result->rows[1].radial.has_value());
  }

  void a_stop_before_the_start_measures_nothing() {
    std::stop_source stop;
    stop.request_stop();
    SweepOptions options;
    options.stop = stop.get_token();
    const auto result = sweep_budgets(tensors_.call, entry(), options);
    QVERIFY(result.has_value());
    QCOMPARE(result->outcome, JobOutcome::stopped);
    QVERIFY(result->rows.empty());
  }

  void it_runs_on_another_thread() {
    Expected<SweepResult> result = fail("not run");
    SweepOptions options;
    options.budgets = {0.2};
    std::jthread([&] { result = sweep_budgets(tensors_.call, entry(), options); }).join();
    QVERIFY(result.has_value());
    QCOMPARE(result->rows.size(), std::size_t{1});
  }

  void wrong_options_are_said_in_a_sentence_data() {
    QTest::addColumn<double>("budget");
    QTest::addColumn<int>("rounds");
    QTest::newRow("budget 0") << 0.0 << 1;
    QTest::newRow("negative") << -0.3 << 1;
    QTest::newRow("over 100 percent") << 1.2 << 1;
    QTest::newRow("no number") << std::nan("") << 1;
    QTest::newRow("no rounds") << 0.3 << 0;
  }
  void wrong_options_are_said_in_a_sentence() {
    QFETCH(double, budget);
    QFETCH(int, rounds);
    SweepOptions options;
    options.budgets = {0.5, budget};
    options.rounds = rounds;
    options.progress = [](const JobProgress&, const SweepResult&) { QFAIL("nothing may be measured"); };
    QVERIFY(!sweep_budgets(tensors_.call, entry(), options).has_value());
    options.budgets.clear();
    QVERIFY(!sweep_budgets(tensors_.call, entry(), options).has_value());
  }

 private:
  [[nodiscard]] const PlanEntry& entry() const { return **block_mask_entry(engine_->registry(), *plan_); }
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Plan> plan_;
  StructuredTensors tensors_;
};

QTEST_GUILESS_MAIN(SparseSweepTest)
#include "sparse_sweep_test.moc"
