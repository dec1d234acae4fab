// SPDX-License-Identifier: GPL-3.0-or-later
// The decision record: as a value, and through the real window.
#include "bench_window.h"
#include "core/call/call_text.h"
#include "ui/explain/decision.h"
#include "ui/explain/explain_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

AttentionCall written(const char* text) {
  const Expected<WrittenCall> call = parse_call(text);
  if (!call) qFatal("%s", call.error().c_str());
  return call->call;
}

QString copied(const BenchWindow& b) {
  QGuiApplication::clipboard()->clear();
  b.find<QAction>("explain.copy")->trigger();
  return QGuiApplication::clipboard()->text();
}

void plan_flux(const BenchWindow& b) {
  b.click(b.box("sdp_overrides/SDNQ attention"));
  b.click(b.find<QPushButton>("run"));
  QTRY_COMPARE(b.window->routes().model().rowCount(), 3);
  QTRY_VERIFY(!b.bench->jobs().running());
}

}  // namespace

class ExplainTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void the_math_kernel_s_scores_are_counted_and_compared_with_the_target() {
    const AttentionCall video = written("q[1,24,27280,128] bf16");
    Target card;
    card.memory_bytes = std::int64_t{16} << 30;
    QCOMPARE(math_memory(video, card).bytes, qint64{71'443'046'400});
    QVERIFY(math_memory(video, card).over);
    card.memory_bytes = std::int64_t{80} << 30;
    QVERIFY(!math_memory(video, card).over);
    card.memory_bytes.reset();
    QVERIFY(!math_memory(video, card).over);
  }

  void the_record_says_what_would_not_fit() {
    Explanation explanation;
    explanation.executed = "sdpa";
    explanation.kernel = "math";
    explanation.reason = "no override is active";
    explanation.chain = "sdnq>sdpa";
    explanation.to_move = {"sdnq: enable it"};
    explanation.entries.push_back({"sdnq", "SDNQ", BackendState::disabled, "", true, false, false, {}, ""});
    explanation.entries.back().checks.push_back({"min_heads", ">= 2", "24", true, ""});
    explanation.entries.push_back({"sdpa", "sdpa", BackendState::ready, "", true, true, true, {}, ""});
    trace::RouteRow route;
    route.id.role = Role::transformer;
    route.id.query = route.id.key = route.value = {{1, 24, 27280, 128, 0}, 4};
    Target card;
    card.label = "A card";
    card.memory_bytes = std::int64_t{16} << 30;
    const AttentionCall call = written("q[1,24,27280,128] bf16");
    const Decision decision = decide({explanation, route, call, card, 3, {}, {}}, false);
    QVERIFY(decision.math_over);
    QCOMPARE(decision.math, QString("This is the math kernel: its scores are 67 GiB, more than the 16 GiB of A card."));
    const QString text = text_of_decision(decision);
    QVERIFY2(
        text.startsWith("transformer · q 1×24×27280×128 · bf16\n\ntarget        A card · 16 GiB\nchain         sdnq › "
                        "sdpa\nquery         1×24×27280×128 bf16 contiguous\nkey, value    as query\n"),
        qPrintable(text));
    QVERIFY(text.contains("role, step    transformer, 3\n"));
    QVERIFY(text.contains("sdnq: off · would accept\n"));
    QVERIFY(!text.contains("min_heads"));
    QVERIFY(text_of_decision(decide({explanation, route, call, card, 3, {}, {}}, true)).contains("ok  min_heads"));
    QVERIFY(text.endsWith("To move this call\n  sdnq: enable it\n"));
    explanation.emulation = "emulated on this host: no driver";
    route.fall_backs = {{"cudaMalloc of query: out of memory", 2}};
    const QString device = text_of_decision(decide({explanation, route, call, card, 3, {}, {}}, false));
    QVERIFY2(device.contains("hardware      emulated on this host: no driver\n"), qPrintable(device));
    QVERIFY2(device.contains("Warning: 2 calls fell back to here: cudaMalloc of query: out of memory\n"),
             qPrintable(device));
  }

  void a_selected_route_is_copied_with_every_check() {
    const BenchWindow b(*theme_);
    plan_flux(b);
    QVERIFY(copied(b).isEmpty());
    b.window->routes().view()->selectRow(2);
    const QString text = copied(b);
    QVERIFY2(text.startsWith("vae · q 1×1×16384×512 · bf16"), qPrintable(text));
    QVERIFY2(text.contains("no  min_heads"), qPrintable(text));
    QVERIFY2(text.contains("flex: off · would accept\n  ok "), qPrintable(text));
    // This machine says why the card that it stands for is emulated.
    const std::string why = b.bench->engine().target().absence;
    QVERIFY(!why.empty());
    QVERIFY2(text.contains("emulated on this host: " + QString::fromStdString(why)), qPrintable(text));
    QVERIFY(text.contains("The math kernel would take 1 GiB."));
    QVERIFY(text.contains("To move this call\n  sdnq: the call would need min_heads"));
  }

  void every_panel_follows_a_call_a_step_and_the_way_back() {
    const BenchWindow b(*theme_);
    plan_flux(b);
    ui::Selection& selection = b.window->selection();
    QTableView* routes = b.window->routes().view();
    routes->selectRow(1);
    QCOMPARE(b.find<QWidget>("explain_panel")->findChildren<QToolButton*>("explain_copy_button").size(), 1);
    b.window->routes().show_calls(true);
    QTRY_COMPARE(b.window->routes().calls().model().rowCount(), 1609);
    b.window->routes().calls().view()->selectRow(500);
    QCOMPARE(selection.call()->index, std::size_t{500});
    QCOMPARE(*selection.step(), (500 - 12) / 57);
    QTRY_VERIFY(copied(b).contains("call          number 500\n"));
    QCOMPARE(routes->currentIndex().row(), 1);
    // The timeline goes on from there, and the list follows it.
    auto* timeline = b.find<QWidget>("timeline_view");
    timeline->setFocus();
    QTest::keyClick(timeline, Qt::Key_Period);
    QCOMPARE(selection.call()->index, std::size_t{501});
    QCOMPARE(b.window->routes().calls().view()->currentIndex().row(), 501);
    // A step of the chart.
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(1);
    auto* plot = b.find<QWidget>("step_plot");
    plot->setFocus();
    QTest::keyClick(plot, Qt::Key_Right);
    QCOMPARE(*selection.step(), (501 - 12) / 57 + 1);
    QVERIFY(!selection.call().has_value());
    QCOMPARE(selection.route()->id.role, Role::transformer);
    QTest::keyClick(b.window.get(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(selection.call()->index, std::size_t{501});
    QTest::keyClick(b.window.get(), Qt::Key_Left, Qt::AltModifier);
    QTest::keyClick(b.window.get(), Qt::Key_Left, Qt::AltModifier);
    QVERIFY(!selection.call().has_value());
    QCOMPARE(routes->currentIndex().row(), 1);
    QTest::keyClick(b.window.get(), Qt::Key_Right, Qt::AltModifier);
    QCOMPARE(selection.call()->index, std::size_t{500});
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(ExplainTest)
#include "explain_test.moc"
