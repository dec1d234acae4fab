// SPDX-License-Identifier: GPL-3.0-or-later
// Comparing runs in the real window: real clicks and keys, real jobs.
#include "ui/compare/compare_page.h"

#include "bench_window.h"
#include "printed.h"
#include "support/tiny_shapes.h"
#include "ui/compare/compare_desk.h"
#include "ui/panel/fact_table.h"
#include "ui/preview/picture_form.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/step_chart/step_chart.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

namespace {

class CompareWindow : public BenchWindow {
 public:
  explicit CompareWindow(Theme& theme, const QString& model = {}) : BenchWindow(theme, nullptr, model) {
    window->workload().choose_model("sd-1.5");
    for (const char* side : {"width", "height"}) window->workload().set_input(side, 64);
    window->workload().set_input("steps", 4);
    window->show_compare();
  }
  [[nodiscard]] ComparePage& page() const { return *find<ComparePage>("compare_page"); }
  [[nodiscard]] RunArchive& archive() const { return window->compare().archive(); }
  void press(const char* button) const { click(find<QPushButton>(button)); }
  /// With a click on Run; false when it did not end.
  [[nodiscard]] bool run(Work work = Work::planned) const {
    window->workload().choose_work(work);
    const auto before = archive().newest();
    press("run");
    const auto ended = [&] { return archive().newest() != before && !bench->jobs().running(); };
    return QTest::qWaitFor(ended, 60000) && QTest::qWaitFor([this] { return is_in_view(); }, 5000);
  }
  /// The table shows the newest run, not the one before.
  [[nodiscard]] bool is_in_view() const {
    const RouteModel& model = window->routes().model();
    const auto& routes = archive().newest()->trace.routes;
    if (model.routes() != static_cast<int>(routes.size())) return false;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const trace::RouteRow& row = model.row(static_cast<int>(i));
      if (!(row.id == routes[i].id) || row.calls != routes[i].calls || row.seconds != routes[i].seconds) return false;
    }
    return true;
  }
  void choose(int number) const {
    QTableView& list = page().runs();
    const QModelIndex cell = page().model().index(page().model().row_of(number), 0);
    list.scrollTo(cell);
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualRect(cell).center());
  }
  [[nodiscard]] QString text(const char* label) const { return find<QLabel>(label)->text(); }
  [[nodiscard]] QStringList rows(const char* table, QList<int> columns = {}) const {
    QStringList lines = printed(*find<FactTable>(table)->model(), std::move(columns));
    for (QString& line : lines) line.replace(QChar::Nbsp, ' ');
    return lines;
  }
  [[nodiscard]] QAction* action(const char* id) const { return find<QAction>(id); }
  void stop_in_a_step() const {
    window->workload().choose_work(Work::all);
    window->workload().set_input("width", 256);
    window->workload().set_input("height", 256);
    window->workload().set_input("steps", 50);
    press("run");
    const auto in_steps = [&] {
      for (const auto& share : bench->services().trace.snapshot().shares) {
        if (share.role == Role::transformer && share.step >= 1) return true;
      }
      return false;
    };
    QVERIFY(QTest::qWaitFor(in_steps, 60000));
    press("stop");
    QVERIFY(QTest::qWaitFor([&] { return !bench->jobs().running(); }, 60000));
  }
};

const QList<int> kChanges{RouteModel::executed, RouteModel::backend_then, RouteModel::role, RouteModel::calls_change};

}  // namespace

class CompareTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void empty_states_say_what_to_do() {
    const CompareWindow b(*theme_);
    QCOMPARE(b.text("compare_headline"), QString("No runs yet"));
    QVERIFY(b.text("compare_advice").contains("Press Run"));
    QVERIFY(!b.find<QPushButton>("compare_keep")->isEnabled());
    QVERIFY(b.run());
    QCOMPARE(b.text("compare_headline"), QString("No baseline yet"));
    b.press("compare_keep");
    QCOMPARE(b.text("compare_headline"), QString("This run is the baseline"));
    QVERIFY(!b.find<QPushButton>("compare_copy_report")->isEnabled());
    QVERIFY(b.run());
    QVERIFY(b.page().comparison().has_value());
    b.press("compare_drop");
    QCOMPARE(b.text("compare_headline"), QString("No baseline yet"));
  }

  void a_run_is_kept_the_chain_changed_and_the_next_run_carries_deltas() {
    const CompareWindow b(*theme_);
    const QAbstractItemModelTester tester(const_cast<RouteModel*>(&b.window->routes().model()),
                                          QAbstractItemModelTester::FailureReportingMode::QtTest);
    b.click(b.box("sdp_overrides/Flash attention"));
    QVERIFY(b.run());
    QVERIFY(b.window->routes().view()->isColumnHidden(RouteModel::backend_then));
    QTest::keyClick(b.window.get(), Qt::Key_K, Qt::ControlModifier);
    QCOMPARE(b.archive().baseline()->number, 1);
    b.click(b.box("sdp_overrides/Sage attention"));
    QTRY_COMPARE(b.chain(), QString("sage>flash>sdpa"));
    QVERIFY(b.run());
    for (const int column :
         {RouteModel::backend_then, RouteModel::time_change, RouteModel::calls_change, RouteModel::share_change}) {
      QVERIFY(!b.window->routes().view()->isColumnHidden(column));
    }
    const QStringList lines = printed(b.window->routes().model(), kChanges);
    QVERIFY2(std::any_of(lines.begin(), lines.end(),
                         [](const QString& line) { return line.startsWith("sage") && line.contains("| flash ≠ |"); }),
             qPrintable(lines.join('\n')));
    for (const QString& line : lines) QVERIFY2(line.endsWith("±0"), qPrintable(line));
    // So do the single calls.
    b.find<QTabBar>("list_tabs")->setCurrentIndex(1);
    const QTableView* calls = b.find<QTableView>("call_table");
    QVERIFY(!calls->isColumnHidden(static_cast<int>(CallColumn::backend_then)));
    const QStringList then =
        printed(*calls->model(), {static_cast<int>(CallColumn::executed), static_cast<int>(CallColumn::backend_then)});
    QVERIFY2(!then.filter(QRegularExpression("^sage.* \\| flash ≠$")).isEmpty(), qPrintable(then.front()));
    b.find<QTabBar>("list_tabs")->setCurrentIndex(0);
    // The timeline's facts and the page say the same.
    QVERIFY(b.window->timeline().facts().startsWith("against #1: "));
    QVERIFY(b.text("compare_sentence").contains("1 setting differs"));
    QCOMPARE(b.rows("compare_settings"),
             QStringList{"SDP overrides | Flash attention | Sage attention, Flash attention"});
    for (const QString& row : b.rows("compare_moved", {1})) QCOMPARE(row, QString("flash → sage"));
    QVERIFY(b.find<QWidget>("compare_chain")->accessibleName().contains("sage new in this run"));
    // And back: without a baseline the table is as it was.
    b.press("compare_drop");
    QVERIFY(b.window->routes().view()->isColumnHidden(RouteModel::backend_then));
    QVERIFY(!b.window->routes().view()->isColumnHidden(RouteModel::requested));
    QVERIFY(!b.window->timeline().facts().contains("against"));
  }

  void times_are_compared_where_both_runs_have_them() {
    const CompareWindow b(*theme_);
    QVERIFY(b.run(Work::representatives));
    b.press("compare_keep");
    b.click(b.box("sdp_overrides/Sage attention"));
    QVERIFY(b.run(Work::representatives));
    const QStringList parts = b.rows("compare_parts", {0, 3});
    QVERIFY2(parts.front().startsWith("all calls | ≈ "), qPrintable(parts.front()));
    QVERIFY(parts.filter("step").size() == 4);
    int timed = 0;
    const RouteModel& model = b.window->routes().model();
    for (int row = 0; row < model.rowCount(); ++row) {
      const QString text = model.index(row, RouteModel::time_change).data().toString();
      if (text == "–") continue;
      ++timed;
      QVERIFY2(QRegularExpression("^(≈ )?(±0|[+−].+)$").match(text).hasMatch(), qPrintable(text));
      const bool scaled = model.row(row).computed_calls < model.row(row).calls;
      QCOMPARE(text.startsWith("≈ "), scaled);
    }
    QCOMPARE(timed, model.rowCount());
    b.press("compare_copy_report");
    const QString report = QGuiApplication::clipboard()->text();
    QVERIFY(report.contains("Time by role") && report.contains("Sage attention"));
    b.press("compare_copy_csv");
    QVERIFY(QGuiApplication::clipboard()->text().startsWith("table,name,call,then,now"));
    QCOMPARE(b.text("compare_state"), QString("The tables are in the clipboard."));
  }

  void the_step_chart_draws_the_baseline_as_a_line() {
    const CompareWindow b(*theme_);
    QVERIFY(b.run());
    b.press("compare_keep");
    b.window->workload().set_input("steps", 6);
    QVERIFY(b.run());
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(1);
    StepPlot& plot = b.find<StepChart>("step_chart")->plot();
    QVERIFY(plot.has_baseline());
    const auto bar_of = [&](int step) {
      return plot.bars().bars()[static_cast<std::size_t>(plot.bars().find(Role::transformer, step))];
    };
    QVERIFY(plot.describe(bar_of(2)).contains("baseline #1: ") && plot.describe(bar_of(2)).contains("now ±0"));
    QVERIFY(plot.describe(bar_of(5)).endsWith("not in the baseline #1"));
    // One computed call per route gives the bars a time, and says so.
    QVERIFY(b.run(Work::representatives));
    QVERIFY(plot.bars().in_seconds() && plot.bars().scaled());
    QVERIFY2(b.find<StepChart>("step_chart")->facts().startsWith("≈ time per step, scaled"),
             qPrintable(b.find<StepChart>("step_chart")->facts()));
    QVERIFY2(plot.describe(bar_of(2)).contains("≈ "), qPrintable(plot.describe(bar_of(2))));
    QVERIFY(b.run());
    // A line in the colour of text stands over the bars that have one.
    const QRectF area = plot.plot_area();
    const QImage image = plot.grab().toImage();
    const double center = plot.bars().column(1, area).center().x();
    int hits = 0;
    for (int y = static_cast<int>(area.top()) - 2; y < area.bottom(); ++y) {
      hits += image.pixelColor(static_cast<int>(center), y) == (*theme_)[Ink::text] ? 1 : 0;
    }
    QVERIFY(hits > 0);
    QVERIFY(b.run(Work::all));
    QVERIFY(!plot.has_baseline());
    QVERIFY(b.find<StepChart>("step_chart")->facts().contains("the baseline #1 has no times"));
  }

  void a_stopped_run_is_listed_with_its_mark_and_refused() {
    const CompareWindow b(*theme_);
    QVERIFY(b.run());
    b.stop_in_a_step();
    const QStringList runs = printed(b.page().model(), {RunListModel::run, RunListModel::outcome});
    QCOMPARE(runs.size(), 2);
    QVERIFY2(QRegularExpression("^#2 \\| stopped at step \\d+ of 50$").match(runs.front()).hasMatch(),
             qPrintable(runs.front()));
    b.choose(2);
    b.press("compare_keep");
    QVERIFY(!b.archive().baseline());
    QVERIFY2(b.text("compare_state").startsWith("Run #2 stopped at step"), qPrintable(b.text("compare_state")));
    QVERIFY(b.text("compare_state").contains("choose a run that finished"));
    // The menu refuses it the same way and marks nothing.
    QAction* newest = b.action("compare.baseline.1");
    QVERIFY(newest->text().contains("stopped at step"));
    newest->trigger();
    QVERIFY(!newest->isChecked());
    QVERIFY(!b.archive().baseline());
    b.action("compare.baseline.2")->trigger();
    QCOMPARE(b.archive().baseline()->number, 1);
    QVERIFY(b.action("compare.baseline.2")->isChecked());
    // Compared all the same, it says that it is a part.
    b.choose(2);
    QVERIFY2(b.text("compare_sentence").startsWith("Run #2 stopped"), qPrintable(b.text("compare_sentence")));
  }

  void another_run_of_the_list_is_compared_with_keys() {
    const CompareWindow b(*theme_);
    for (int i = 0; i < 3; ++i) QVERIFY(b.run());
    b.choose(1);
    b.press("compare_keep");
    b.choose(3);
    QVERIFY(b.text("compare_titles").contains("#3"));
    QTest::keyClick(&b.page().runs(), Qt::Key_Down);
    QVERIFY(b.text("compare_titles").contains("#2"));
    // Who looks at an older run is not moved away from it by a new one.
    QVERIFY(b.run());
    QVERIFY(b.text("compare_titles").contains("#2"));
    b.choose(4);
    QVERIFY(b.run());
    QVERIFY(b.text("compare_titles").contains("#5"));
    QCOMPARE(b.page().facts().section(" · ", 0, 1), QString("5 runs · baseline #1 Stable Diffusion 1.5"));
  }

  void the_table_does_not_scroll_sideways_for_the_comparison() {
    const CompareWindow b(*theme_);
    QVERIFY(b.run(Work::representatives));
    b.press("compare_keep");
    b.click(b.box("sdp_overrides/Sage attention"));
    QVERIFY(b.run(Work::representatives));
    const QTableView* view = b.window->routes().view();
    const auto fits = [&](const QTableView* table) {
      return table->horizontalHeader()->length() <= table->viewport()->width() + 1;
    };
    QVERIFY(fits(view));
    b.action("route.measure_error")->trigger();
    QVERIFY(QTest::qWaitFor([&] { return !b.bench->jobs().running(); }, 60000));
    b.window->arrange({1280, 720});
    QVERIFY2(fits(view),
             qPrintable(QString("%1 in %2").arg(view->horizontalHeader()->length()).arg(view->viewport()->width())));
    b.find<QTabBar>("list_tabs")->setCurrentIndex(1);
    const QTableView* calls = b.find<QTableView>("call_table");
    QTRY_VERIFY(fits(calls));
  }

  void a_route_that_a_dispatcher_serves_says_so_within_its_column() {
    const CompareWindow b(*theme_);
    AttentionChoices choices;
    choices.all = "cudnn";
    b.window->workload().choose_model("flux.1-dev");
    QVERIFY(b.bench->services().policy.choose(choices).has_value());
    QVERIFY(b.run());
    QTableView* view = b.window->routes().view();
    int bypassed = 0;
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      const QModelIndex cell = view->model()->index(row, RouteModel::executed);
      if (!cell.data().toString().endsWith("bypassed")) continue;
      ++bypassed;
      QStyleOptionViewItem option;
      const int wished = view->itemDelegate()->sizeHint(option, cell).width();
      QVERIFY2(wished <= view->columnWidth(RouteModel::executed),
               qPrintable(QString("%1: %2 in %3").arg(cell.data().toString()).arg(wished).arg(view->columnWidth(0))));
      QVERIFY(cell.data(Qt::ToolTipRole).toString().contains("a dispatcher in front of the chain"));
    }
    QVERIFY(bypassed > 0);
    QVERIFY2(view->horizontalHeader()->length() <= view->viewport()->width() + 1,
             qPrintable(QString("%1 in %2").arg(view->horizontalHeader()->length()).arg(view->viewport()->width())));
  }

  void a_picture_and_its_run_are_one_baseline() {
    const QTemporaryDir folder;
    test::TinyShapes::write(folder.path());
    const CompareWindow b(*theme_, folder.path());
    QVERIFY(b.window->workload().choose_model("shapes"));
    PictureRequest request;
    request.prompt = "a red circle on a blue background";
    request.seed = 5;
    request.width = request.height = 64;
    request.steps = 3;
    b.window->workload().form().set_request(request);
    b.window->workload().form().keep_seed();
    QVERIFY(b.run());
    // Kept beside the picture, the run is the baseline of everything.
    b.press("preview_keep");
    QCOMPARE(b.archive().baseline()->number, 1);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QVERIFY(b.run());
    const auto picture_rows = [&] { return b.rows("compare_totals").filter("Picture"); };
    QTRY_VERIFY(!picture_rows().isEmpty());
    QTRY_VERIFY(b.find<QLabel>("preview_numbers")->isVisibleTo(b.window.get()));
    // Kept here, the picture is what the preview compares with.
    b.choose(2);
    b.press("compare_keep");
    QCOMPARE(b.window->preview().baseline().image.cacheKey(), b.archive().find(2)->picture.image.cacheKey());
    // A run without a picture is a baseline without one.
    QVERIFY(b.window->workload().choose_model("sd-1.5"));
    b.window->workload().set_input("width", 64);
    b.window->workload().set_input("height", 64);
    QVERIFY(b.run());
    b.choose(3);
    b.press("compare_keep");
    QVERIFY(!b.window->preview().baseline().is_there());
  }

  void columns_of_a_comparison_are_not_kept_for_the_next_start() {
    const QTemporaryDir folder;
    const QString file = folder.filePath("window.ini");
    {
      BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
      b.window->workload().run();
      QVERIFY(QTest::qWaitFor([&] { return b.window->compare().archive().newest() != nullptr; }, 30000));
      QVERIFY(b.window->compare().archive().keep(1).has_value());
      QVERIFY(!b.window->routes().view()->isColumnHidden(RouteModel::time_change));
      b.window->close();
    }
    const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
    QVERIFY(b.window->routes().view()->isColumnHidden(RouteModel::time_change));
    QVERIFY(!b.window->routes().view()->isColumnHidden(RouteModel::requested));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(CompareTest)
#include "compare_test.moc"
