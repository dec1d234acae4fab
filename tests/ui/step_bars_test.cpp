// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/step_chart/step_bars.h"

#include <QtTest>
#include <cmath>

using namespace attn;
using namespace attn::ui;

namespace {

trace::TraceSnapshot run_of(std::vector<trace::StepShare> shares) {
  trace::TraceSnapshot run;
  run.shares = std::move(shares);
  trace::RouteRow row;
  row.calls = 1;
  run.routes.push_back(row);
  return run;
}

}  // namespace

class StepBarsTest : public QObject {
  Q_OBJECT

 private slots:
  void roles_stand_around_the_steps() {
    const StepBars bars(run_of({{Role::vae, 2, "sdpa", 1, 0.0},
                                {Role::transformer, 1, "sdnq", 57, 0.0},
                                {Role::transformer, 0, "sdnq", 50, 0.0},
                                {Role::transformer, 0, "flash", 7, 0.0},
                                {Role::te, 0, "sage", 12, 0.0}}));
    QCOMPARE(bars.bars().size(), std::size_t{4});
    QCOMPARE(bars.bars()[0].role, Role::te);
    QCOMPARE(bars.bars()[1].step, 0);
    QCOMPARE(bars.bars()[1].parts.size(), std::size_t{2});
    QCOMPARE(bars.bars()[1].total, 57.0);
    QCOMPARE(bars.bars()[2].step, 1);
    QCOMPARE(bars.bars()[3].role, Role::vae);
    QVERIFY(!bars.in_seconds());
    QCOMPARE(bars.peak(), 57.0);
  }

  void seconds_only_when_every_route_was_timed() {
    trace::TraceSnapshot run = run_of({{Role::transformer, 0, "sdnq", 1, 0.5}});
    run.routes[0].computed_calls = 1;
    QVERIFY(StepBars(run).in_seconds());
    QVERIFY(!StepBars(run).scaled());
    run.routes[0].computed_calls = 0;
    QVERIFY(!StepBars(run).in_seconds());
  }

  void one_call_of_a_route_stands_for_the_others() {
    // 57 calls in each of two steps, one of which took 10 ms; and a VAE that was measured whole.
    trace::TraceSnapshot run;
    run.shares = {{Role::transformer, 0, "sage", 57, 0.01},
                  {Role::transformer, 1, "sage", 57, 0.0},
                  {Role::vae, 2, "sdpa", 1, 0.2}};
    trace::RouteRow sage;
    sage.id.backend = "sage";
    sage.id.role = Role::transformer;
    sage.calls = 114;
    sage.computed_calls = 1;
    sage.seconds = 0.01;
    trace::RouteRow vae;
    vae.id.backend = "sdpa";
    vae.id.role = Role::vae;
    vae.calls = vae.computed_calls = 1;
    vae.seconds = 0.2;
    run.routes = {sage, vae};
    run.steps = {{0, 0, 57, 1, 0.01}, {0, 1, 57, 0, 0.0}, {1, 2, 1, 1, 0.2}};
    const StepBars bars(run);
    QVERIFY(bars.in_seconds() && bars.scaled());
    QCOMPARE(bars.bars().size(), std::size_t{3});
    QVERIFY(std::abs(bars.bars()[0].total - 0.57) < 1e-9);
    QVERIFY(std::abs(bars.bars()[1].total - 0.57) < 1e-9);
    QVERIFY(std::abs(bars.bars()[2].total - 0.2) < 1e-9);
  }

  void a_position_finds_the_bar_that_is_drawn_there_data() {
    QTest::addColumn<int>("steps");
    QTest::addColumn<double>("width");
    QTest::newRow("few") << 4 << 900.0;
    QTest::newRow("many") << 50 << 600.0;
    QTest::newRow("more than pixels") << 1000 << 500.0;
  }
  void a_position_finds_the_bar_that_is_drawn_there() {
    QFETCH(int, steps);
    QFETCH(double, width);
    std::vector<trace::StepShare> shares;
    for (int step = 0; step < steps; ++step) shares.push_back({Role::transformer, step, "sdnq", 1, 0.0});
    const StepBars bars(run_of(std::move(shares)));
    const QRectF plot(60, 10, width, 100);
    for (int i = 0; i < steps; ++i) {
      const QRectF column = bars.column(static_cast<std::size_t>(i), plot);
      QCOMPARE(bars.at(column.center().x(), plot), i);
      QVERIFY(column.right() <= plot.right() + 0.001);
    }
    QCOMPARE(bars.at(59.0, plot), -1);
    QCOMPARE(StepBars().at(100.0, plot), -1);
  }
};

QTEST_GUILESS_MAIN(StepBarsTest)
#include "step_bars_test.moc"
