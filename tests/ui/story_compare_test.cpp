// SPDX-License-Identifier: GPL-3.0-or-later
// A story in the real window, told with keys and clicks alone: is sparse attention worth it for this model?
#include "bench_window.h"
#include "printed.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/compare/compare_desk.h"
#include "ui/compare/compare_page.h"
#include "ui/panel/fact_table.h"
#include "ui/route_table/route_panel.h"
#include "ui/step_chart/step_chart.h"
#include "ui/workload_panel/workload_panel.h"

#include <QClipboard>
#include <QDoubleSpinBox>
#include <QGuiApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

class StoryCompareTest : public QObject {
  Q_OBJECT

 private slots:
  void sparse_is_compared_with_dense() {
    Theme theme;
    const BenchWindow b(theme);
    RunArchive& archive = b.window->compare().archive();
    const RouteModel& table = b.window->routes().model();
    const auto key = [&](int code, Qt::KeyboardModifiers with = Qt::ControlModifier) {
      QTest::keyClick(b.window.get(), static_cast<Qt::Key>(code), with);
    };
    const auto in_view = [&] {
      const auto& routes = archive.newest()->trace.routes;
      if (table.routes() != static_cast<int>(routes.size())) return false;
      for (std::size_t i = 0; i < routes.size(); ++i) {
        const trace::RouteRow& row = table.row(static_cast<int>(i));
        if (!(row.id == routes[i].id) || row.calls != routes[i].calls || row.seconds != routes[i].seconds) return false;
      }
      return true;
    };
    const auto run = [&] {
      const auto before = archive.newest();
      key(Qt::Key_R);
      const auto ended = [&] { return archive.newest() != before && !b.bench->jobs().running(); };
      return QTest::qWaitFor(ended, 120000) && QTest::qWaitFor(in_view, 5000);
    };
    const auto type_input = [&](const char* name, const QString& number) {
      auto* spin = b.find<QDoubleSpinBox>(name);
      spin->setFocus();
      spin->selectAll();
      QTest::keyClicks(spin, number);
      QTest::keyClick(spin, Qt::Key_Return);
    };
    const auto backend_of = [&](const QString& role) {
      for (int row = 0; row < table.rowCount(); ++row) {
        if (table.index(row, RouteModel::role).data().toString() == role) return row;
      }
      return -1;
    };
    const auto cell = [&](const QString& role, int column) {
      return table.index(backend_of(role), column).data().toString();
    };

    // A dense run: the model by its name, a small picture, one call of each route computed.
    auto* model = b.find<QComboBox>("model");
    model->lineEdit()->setFocus();
    model->lineEdit()->selectAll();
    QTest::keyClicks(model->lineEdit(), "FLUX.1 dev");
    QTest::keyClick(model->lineEdit(), Qt::Key_Return);
    for (const char* side : {"input_width", "input_height"}) type_input(side, "512");
    type_input("input_steps", "6");
    auto* work = b.find<QComboBox>("work");
    work->setFocus();
    QTest::keyClick(work, Qt::Key_Down);
    QCOMPARE(work->currentText(), QString("computed, one call per route"));
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QVERIFY(run());
    QTRY_COMPARE(cell("transformer", RouteModel::executed).section(' ', 0, 0), QString("sdnq"));

    // It is what everything later is held against.
    key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(b.find<QTabBar>("chart_tabs")->tabText(b.find<QTabBar>("chart_tabs")->currentIndex()), QString("Compare"));
    key(Qt::Key_K);
    QCOMPARE(b.find<QLabel>("compare_headline")->text(), QString("This run is the baseline"));

    // Sparse, with a sequence as short as this one let in and the first and last steps denser.
    const ChainHistory& history = b.window->chain_bar().history();
    b.click(b.box("sparse_attention_enabled"));
    QTRY_COMPARE(history.moments().size(), std::size_t{3});
    b.type("sparse_attention_min_tokens", "1024");
    QTRY_COMPARE(history.moments().size(), std::size_t{4});
    b.type("sparse_attention_schedule_steps", "1");
    QTRY_COMPARE(history.moments().size(), std::size_t{5});
    QVERIFY(run());
    QTRY_COMPARE(cell("transformer", RouteModel::executed).section(' ', 0, 0), QString("sdnq+sparse"));

    // What became of it, in the table ...
    QCOMPARE(cell("transformer", RouteModel::backend_then), QString("sdnq ≠"));
    QCOMPARE(cell("transformer", RouteModel::calls_change), QString("±0"));
    QCOMPARE(cell("vae", RouteModel::backend_then), QString("sdpa"));
    QVERIFY(QRegularExpression("^≈ (±0|[+−].+)$").match(cell("transformer", RouteModel::time_change)).hasMatch());
    // ... on the page, in numbers and words ...
    const ComparePage& page = *b.find<ComparePage>("compare_page");
    QTRY_VERIFY(page.comparison().has_value());
    QCOMPARE(
        printed(*b.find<FactTable>("compare_settings")->model()),
        (QStringList{"Sparse Attention | off | on", "Sparse Attention minimum sequence | 8192 tokens | 1024 tokens",
                     "Sparse Attention dense steps | 0 steps | 1 steps"}));
    const qint64 calls = table.row(backend_of("transformer")).calls;
    QCOMPARE(page.comparison()->moved_calls, calls);
    QCOMPARE(printed(*b.find<FactTable>("compare_moved")->model(), {0, 1, 2}),
             QStringList{QString("transformer\n1×24×1536×128 bf16 | sdnq → sdnq+sparse | %1").arg(calls)});
    auto* tabs = b.find<QTabBar>("compare_tabs");
    tabs->setFocus();
    for (int i = 0; i < 3; ++i) QTest::keyClick(tabs, Qt::Key_Right);
    QVERIFY(b.find<FactTable>("compare_parts")->isVisible());
    QCOMPARE(printed(*b.find<FactTable>("compare_parts")->model(), {0}).filter("step").size(), 6);
    // ... and how far it is from exact: one call, measured from the menu of its row.
    QTableView* view = b.window->routes().view();
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      const QModelIndex at = view->model()->index(row, RouteModel::role);
      if (at.data().toString() == "transformer") {
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(at).center());
      }
    }
    QVERIFY(b.window->selection().route().has_value());
    QVERIFY(b.window->commands().run("route.measure_error"));
    QVERIFY(QTest::qWaitFor([&] { return !b.bench->jobs().running(); }, 120000));
    QTRY_VERIFY(cell("transformer", RouteModel::error) != "–");

    // The report goes to a colleague.
    b.click(b.find<QPushButton>("compare_copy_report"));
    const QString report = QGuiApplication::clipboard()->text();
    for (const char* part : {"Baseline  #1 FLUX.1 dev · sdnq · ≈ ", "Run       #2 FLUX.1 dev · sdnq · ≈ ",
                             "sdnq+sparse", "Sparse Attention dense steps", "Time by step"}) {
      QVERIFY2(report.contains(part), qPrintable(report));
    }

    // Not worth it: back to the chain before, and the same run again moves nothing.
    b.click(b.find<QToolButton>("chain_history_button"));
    auto* moments = b.find<FactTable>("chain_history_table");
    for (int i = 0; i < 3; ++i) QTest::keyClick(moments, Qt::Key_Down);
    QTest::keyClick(moments, Qt::Key_Return);
    QTRY_VERIFY(!b.bench->engine().values().boolean("sparse_attention_enabled"));
    QVERIFY(run());
    QTRY_COMPARE(cell("transformer", RouteModel::backend_then), QString("sdnq"));
    QTRY_VERIFY(page.comparison()->moved_calls == 0 && page.comparison()->settings.empty());
    QVERIFY(b.find<QLabel>("compare_sentence")->text().startsWith("No call moved to another backend, no setting"));
  }
};

QTEST_MAIN(StoryCompareTest)
#include "story_compare_test.moc"
