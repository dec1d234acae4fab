// SPDX-License-Identifier: GPL-3.0-or-later
// Errors of routes against exact attention: measured by a real job, and taken from the levers.
#include "app/gui/error_job.h"

#include "app/jobs/compare/compare.h"
#include "bench_window.h"
#include "ui/compare/compare_desk.h"
#include "ui/compare/error_book.h"
#include "ui/compare/error_service.h"
#include "ui/format/format.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

trace::RouteRow route_of(std::int32_t heads, std::int32_t kv_heads, std::int32_t tokens) {
  trace::RouteRow row;
  row.id.backend = row.executed = "sdnq";
  row.id.role = Role::transformer;
  row.id.query = {{1, heads, tokens, 128}, 4};
  row.id.key = row.value = {{1, kv_heads, tokens, 128}, 4};
  return row;
}

class ErrorWindow : public BenchWindow {
 public:
  explicit ErrorWindow(Theme& theme) : BenchWindow(theme) {
    window->workload().choose_model("flux.1-dev");
    for (const char* side : {"width", "height"}) window->workload().set_input(side, 256);
  }
  [[nodiscard]] bool run() const {
    const auto before = window->compare().archive().newest();
    click(find<QPushButton>("run"));
    return QTest::qWaitFor(
        [&] {
          return window->compare().archive().newest() != before && !bench->jobs().running() &&
                 window->routes().model().routes() ==
                     static_cast<int>(window->compare().archive().newest()->trace.routes.size()) &&
                 window->routes().model().row(row_of("transformer")).calls > 0;
        },
        60000);
  }
  [[nodiscard]] int row_of(const QString& role) const {
    const RouteModel& model = window->routes().model();
    for (int row = 0; row < model.rowCount(); ++row) {
      if (model.index(row, RouteModel::role).data().toString() == role) return row;
    }
    return 0;
  }
  [[nodiscard]] QString error_of(const QString& role) const {
    return window->routes().model().index(row_of(role), RouteModel::error).data().toString();
  }
  /// As the menu of a cell does it.
  void measure(const QString& role) const {
    QTableView* view = window->routes().view();
    const QModelIndex cell = view->model()->index(row_of(role), 0);
    QContextMenuEvent asked(QContextMenuEvent::Mouse, view->visualRect(cell).center(),
                            view->viewport()->mapToGlobal(view->visualRect(cell).center()));
    QCoreApplication::sendEvent(view->viewport(), &asked);
    auto* menu = window->findChild<QMenu*>("route_table_menu");
    QVERIFY(menu != nullptr);
    for (QAction* action : menu->actions()) {
      if (action->text().startsWith("Measure error")) action->trigger();
    }
    menu->close();
  }
  void wait() const {
    QVERIFY(QTest::qWaitFor([this] { return !bench->jobs().running(); }, 120000));
  }
};

}  // namespace

class RouteErrorTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void a_route_is_measured_against_exact_attention_from_its_menu() {
    const ErrorWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QVERIFY(b.run());
    QCOMPARE(b.error_of("transformer"), QString("–"));
    QVERIFY(b.window->routes().view()->isColumnHidden(RouteModel::error));
    const qint64 calls = b.window->routes().model().row(b.row_of("transformer")).calls;
    b.measure("transformer");
    b.wait();
    QTRY_VERIFY(b.error_of("transformer") != "–");
    bool number = false;
    const double error = b.error_of("transformer").toDouble(&number);
    QVERIFY2(number && error > 1e-4 && error < 0.1, qPrintable(b.error_of("transformer")));
    QVERIFY(!b.window->routes().view()->isColumnHidden(RouteModel::error));
    const QString tip =
        b.window->routes().model().index(b.row_of("transformer"), RouteModel::error).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.contains("cosine 0.99") && tip.contains("4 of 24 heads"), qPrintable(tip));
    // The run in view is the same one, and nothing else was measured.
    QCOMPARE(b.window->routes().model().row(b.row_of("transformer")).calls, calls);
    QCOMPARE(b.error_of("vae"), QString("–"));
    QCOMPARE(b.window->compare().archive().runs().size(), std::size_t{1});
  }

  void an_error_holds_for_the_options_that_it_was_measured_with() {
    const ErrorWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QVERIFY(b.run());
    b.window->selection().choose(b.window->routes().model().row(b.row_of("transformer")), nullptr);
    b.find<QAction>("route.measure_error")->trigger();
    b.wait();
    QTRY_VERIFY(b.error_of("transformer") != "–");
    const QString first = b.error_of("transformer");
    // Another option of the backend: other numbers, which nobody has measured.
    Engine& engine = b.bench->engine();
    const OptionSpec* option = nullptr;
    const std::vector<OptionSpec> specs = engine.registry().by_name("sdnq")->options;
    for (const OptionSpec& spec : specs) {
      if (option == nullptr && spec.type == OptionType::boolean) option = &spec;
    }
    QVERIFY(option != nullptr);
    const bool was = engine.values().boolean(option->key);
    QVERIFY(engine.set(option->key, !was).has_value());
    QVERIFY(b.run());
    QTRY_COMPARE(b.error_of("transformer"), QString("–"));
    // Back again, the value is known; what is set beside the backend's own options does not matter.
    QVERIFY(engine.set(option->key, was).has_value());
    QVERIFY(engine.set(keys::overrides, OptionList{"SDNQ attention", "Flash attention"}).has_value());
    QVERIFY(b.run());
    QTRY_COMPARE(b.error_of("transformer"), first);
  }

  void an_exact_route_has_no_error() {
    const ErrorWindow b(*theme_);
    QVERIFY(b.run());
    b.measure("transformer");
    b.wait();
    QTRY_VERIFY(b.error_of("transformer") == "exact" || b.error_of("transformer").toDouble() < 1e-2);
    QTRY_VERIFY(b.error_of("transformer") != "–");
  }

  void a_sparse_route_is_measured_where_a_selection_can_be_right() {
    const ErrorWindow b(*theme_);
    const std::vector<std::pair<std::string, OptionValue>> sparse{
        {std::string(keys::overrides), OptionList{"SDNQ attention"}},
        {"sparse_attention_enabled", true},
        {"sparse_attention_min_tokens", std::int64_t{512}}};
    QVERIFY(b.bench->engine().set_all(sparse).has_value());
    for (const char* side : {"width", "height"}) b.window->workload().set_input(side, 512);
    QVERIFY(b.run());
    QVERIFY(b.window->routes().model().row(b.row_of("transformer")).id.backend == "sdnq+sparse");
    b.measure("transformer");
    b.wait();
    QTRY_VERIFY(b.error_of("transformer") != "–");
    QVERIFY2(b.error_of("transformer").toDouble() < 0.25, qPrintable(b.error_of("transformer")));
  }

  void stop_leaves_the_column_empty() {
    const ErrorWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    for (const char* side : {"width", "height"}) b.window->workload().set_input(side, 2048);
    QVERIFY(b.run());
    b.measure("transformer");
    QVERIFY(b.bench->jobs().running());
    QVERIFY(!b.find<QAction>("route.measure_error")->isEnabled());
    b.click(b.find<QPushButton>("stop"));
    b.wait();
    QCOMPARE(b.error_of("transformer"), QString("–"));
    QVERIFY(b.find<QLabel>("run_state")->text().startsWith("Stopped"));
  }

  void the_job_tells_what_comparing_the_chains_tells() {
    const ErrorWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QVERIFY(b.run());
    trace::RouteRow route = b.window->routes().model().row(b.row_of("transformer"));
    route = app::fewer_heads(route);
    QSignalSpy measured(&b.bench->services().errors, &ErrorService::measured);
    QVERIFY(b.bench->services().errors.measure(route, *b.window->compare().archive().settings_in_view()).has_value());
    b.wait();
    QTRY_COMPARE(measured.size(), 1);
    const auto told = measured.front().front().value<std::vector<MeasuredRoute>>().front();
    QCOMPARE(told.note, QString("measured on one whole call"));
    auto exact = app::Workbench::open("rtx-3090");
    auto served = app::Workbench::open("rtx-3090");
    QVERIFY((*exact)->engine().set(keys::overrides, OptionList{}).has_value());
    QVERIFY((*served)->engine().set(keys::overrides, OptionList{"SDNQ attention"}).has_value());
    const auto written = parse_call(written_call(route, false));
    QVERIFY(written.has_value());
    const auto result = app::compare_chains(app::make_schedule(*written), (*exact)->engine(), (*served)->engine(), {});
    QVERIFY(result.has_value());
    QCOMPARE(told.relative_l1, result->rows.front().error.relative_l1);
    QCOMPARE(told.cosine, result->rows.front().error.cosine);
  }

  void a_call_that_goes_elsewhere_alone_says_so() {
    const ErrorWindow b(*theme_);
    QVERIFY(b.run());
    trace::RouteRow route = b.window->routes().model().row(b.row_of("transformer"));
    route.id.backend = route.executed = "sage";
    QVERIFY(b.bench->services().errors.measure(route, *b.window->compare().archive().settings_in_view()).has_value());
    b.wait();
    const QString said = b.find<QLabel>("run_state")->text();
    QVERIFY2(said.contains("goes to sdpa and not to sage"), qPrintable(said));
  }

  void what_is_left_out_keeps_groups_of_heads_and_tiles() {
    const trace::RouteRow grouped = app::fewer_heads(route_of(32, 8, 4096));
    QCOMPARE(grouped.id.query.size[1], 16);
    QCOMPARE(grouped.id.key.size[1], 4);
    QCOMPARE(app::fewer_heads(route_of(1, 1, 64)).id.query.size[1], 1);
    QCOMPARE(app::fewer_tokens(route_of(2, 2, 4096), 1.0).id.query.size[2], 4096);
    const trace::RouteRow shorter = app::fewer_tokens(route_of(2, 2, 75600), 400.0);
    QVERIFY(shorter.id.query.size[2] < 75600 && shorter.id.query.size[2] % 128 == 0);
    QVERIFY(shorter.id.key == shorter.id.query);
  }

  void the_levers_errors_are_the_routes_too() {
    const ErrorWindow b(*theme_);
    b.window->workload().choose_model("sd-1.5");
    for (const char* side : {"width", "height"}) b.window->workload().set_input(side, 64);
    b.window->workload().set_input("steps", 2);
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(b.chain(), QString("flash>sdpa"));
    QVERIFY(b.run());
    QCOMPARE(b.error_of("transformer"), QString("–"));
    LeversService& levers = b.bench->services().levers;
    QVERIFY(QTest::qWaitFor([&] { return !levers.state().rows.empty(); }, 10000));
    QVERIFY(levers.measure({"baseline", "backend:flash"}, 2, false).has_value());
    b.wait();
    QTRY_VERIFY(b.error_of("transformer") != "–");
    const QString tip =
        b.window->routes().model().index(b.row_of("transformer"), RouteModel::error).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.contains("measured by the levers, variant backend:flash"), qPrintable(tip));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(RouteErrorTest)
#include "route_error_test.moc"
