// SPDX-License-Identifier: GPL-3.0-or-later
// Filter, find, group and copy by keys and clicks, over the real panel with rows of its own.
#include "ui/route_table/route_panel.h"

#include "printed.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QCompleter>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

using namespace attn;
using namespace attn::ui;
using attn::test::printed;

namespace {

trace::RouteEvent event_of(std::string_view backend, Role role, int tokens, int step) {
  trace::RouteEvent event;
  event.requested = event.selected = "sdnq";
  event.executed = event.variant = backend;
  event.query = event.key = event.value = {{1, 8, tokens, 64, 0}, 4};
  event.role = role;
  event.step = step;
  return event;
}

/// A panel in a window of its own, with three routes and 41 calls.
struct Shown {
  Theme theme;
  Selection selection;
  trace::RouteTable table;
  trace::CallLog log;
  RoutePanel panel{selection, theme};

  Shown() {
    panel.resize(1000, 500);
    panel.addActions(panel.actions_of_panel());
    panel.show();
    panel.activateWindow();
    if (!QTest::qWaitForWindowActive(&panel)) qFatal("the window does not become active");
    for (int i = 0; i < 4; ++i) add(event_of("sage", Role::te, 77, 0));
    for (int i = 0; i < 36; ++i) add(event_of("sdnq", Role::transformer, 4608, i / 6));
    add(event_of("sdpa", Role::vae, 16384, 6));
    feed();
  }
  void add(const trace::RouteEvent& event) {
    table.add(event);
    log.add(event);
  }
  void feed() {
    panel.set_run(table.snapshot(0));
    panel.set_calls(log.view());
  }
  QLineEdit& line() { return panel.filter().field(); }
  void type(const QString& text) {
    line().setFocus();
    line().selectAll();
    QTest::keyClicks(&line(), text);
    QTest::keyClick(&line(), Qt::Key_Return);
  }
  QStringList shown() { return printed(*panel.view()->model(), {RouteModel::executed, RouteModel::role}); }
  QString message() { return panel.findChild<QLabel*>("route_filter_error")->text(); }
};

}  // namespace

class RoutePanelTest : public QObject {
  Q_OBJECT

 private slots:
  void a_wrong_line_is_said_and_the_last_good_one_stays() {
    Shown s;
    s.type("role:vae");
    QCOMPARE(s.shown(), QStringList{"sdpa | vae"});
    s.type("rolle:te");
    QCOMPARE(s.shown(), QStringList{"sdpa | vae"});
    QVERIFY2(s.message().contains("did you mean role?"), qPrintable(s.message()));
    QCOMPARE(s.line().accessibleDescription(), s.message());
    s.type("role:te");
    QCOMPARE(s.shown(), QStringList{"sage | te"});
    QVERIFY(s.message().isEmpty());
    QTest::keyClick(&s.line(), Qt::Key_Escape);
    QCOMPARE(s.shown().size(), 3);
    // Without Return too, once the keys have rested.
    QTest::keyClicks(&s.line(), "role:vae");
    QCOMPARE(s.shown().size(), 3);
    QTRY_COMPARE(s.shown().size(), 1);
  }

  void completion_offers_fields_and_what_occurs() {
    Shown s;
    s.line().setFocus();
    QTest::keyClicks(&s.line(), "backe");
    auto* choices = s.panel.filter().findChild<QCompleter*>();
    QVERIFY(choices->popup()->isVisible());
    QCOMPARE(choices->popup()->model()->index(0, 0).data().toString(), QString("backend:"));
    emit choices->activated(choices->popup()->model()->index(0, 0));
    QCOMPARE(s.line().text(), QString("backend:"));
    QStringList offered;
    for (int row = 0; row < choices->popup()->model()->rowCount(); ++row) {
      offered << choices->popup()->model()->index(row, 0).data().toString();
    }
    QCOMPARE(offered, (QStringList{"sage", "sdnq", "sdpa"}));
    emit choices->activated(choices->popup()->model()->index(2, 0));
    QCOMPARE(s.line().text(), QString("backend:sdpa "));
    QTRY_COMPARE(s.shown(), QStringList{"sdpa | vae"});
  }

  void a_cell_filters_and_excludes_by_its_menu() {
    Shown s;
    QTableView* view = s.panel.view();
    view->setCurrentIndex(view->model()->index(1, RouteModel::role));
    const auto menu = [&](const QString& begins) {
      QContextMenuEvent event(QContextMenuEvent::Keyboard, QPoint(1, 1), view->mapToGlobal(QPoint(1, 1)));
      QCoreApplication::sendEvent(view, &event);
      auto* shown = s.panel.findChild<QMenu*>("route_table_menu");
      if (shown == nullptr) return false;
      for (QAction* action : shown->actions()) {
        if (!action->text().startsWith(begins)) continue;
        action->trigger();
        delete shown;
        return true;
      }
      return false;
    };
    QVERIFY(menu("Exclude role=transformer"));
    QCOMPARE(s.line().text(), QString("-role=transformer"));
    QCOMPARE(s.shown(), (QStringList{"sage | te", "sdpa | vae"}));
    view->setCurrentIndex(view->model()->index(1, RouteModel::query));
    QVERIFY(menu("Filter by q:16384"));
    QCOMPARE(s.shown(), QStringList{"sdpa | vae"});
    QVERIFY(menu("Copy cell"));
    s.panel.filter().set_line("role:te OR role:vae");
    s.panel.filter().add_term("q:77", false);
    QCOMPARE(s.line().text(), QString("(role:te OR role:vae) q:77"));
    QCOMPARE(s.shown(), QStringList{"sage | te"});
  }

  void find_goes_from_match_to_match_in_both_lists() {
    Shown s;
    QTest::keyClick(&s.panel, Qt::Key_F3);
    auto* find = s.panel.findChild<QLineEdit*>("find_line");
    QTRY_VERIFY(find->isVisible() && find->hasFocus());
    QTest::keyClicks(find, "fallback:yes");
    QTest::keyClick(find, Qt::Key_Return);
    auto* result = s.panel.findChild<QLabel*>("find_result");
    QTRY_COMPARE(result->text(), QString("1 of 2"));
    QCOMPARE(s.selection.route()->id.role, Role::te);
    QTest::keyClick(&s.panel, Qt::Key_F3);
    QCOMPARE(result->text(), QString("2 of 2"));
    QCOMPARE(s.selection.route()->id.role, Role::vae);
    QTest::keyClick(&s.panel, Qt::Key_F3, Qt::ShiftModifier);
    QCOMPARE(s.selection.route()->id.role, Role::te);
    s.panel.show_calls(true);
    QTest::keyClick(&s.panel, Qt::Key_F3, Qt::ShiftModifier);
    QTRY_COMPARE(result->text(), QString("5 of 5"));
    QCOMPARE(s.selection.call()->index, std::size_t{40});
    find->setFocus();
    QTest::keyClick(find, Qt::Key_Escape);  // first the line, then the bar
    QTest::keyClick(find, Qt::Key_Escape);
    QVERIFY(!find->isVisible());
  }

  void calls_follow_the_same_filter_and_the_run() {
    Shown s;
    const QAbstractItemModelTester tester(&s.panel.calls().model(),
                                          QAbstractItemModelTester::FailureReportingMode::QtTest);
    s.panel.show_calls(true);
    QCOMPARE(s.panel.calls().model().rowCount(), 41);
    s.type("role:transformer step:2..3");
    QTRY_COMPARE(s.panel.calls().model().rowCount(), 12);
    QVERIFY(s.panel.calls().facts().startsWith("12 of 41 calls"));
    for (int i = 0; i < 3; ++i) s.add(event_of("sdnq", Role::transformer, 4608, 3));
    s.feed();
    QCOMPARE(s.panel.calls().model().rowCount(), 15);
    s.panel.calls().view()->selectRow(14);
    QCOMPARE(s.selection.call()->index, std::size_t{43});
    s.panel.calls().view()->sortByColumn(static_cast<int>(CallColumn::number), Qt::DescendingOrder);
    QTRY_COMPARE(s.panel.calls().view()->currentIndex().row(), 0);
  }

  void rows_are_copied_as_csv_with_plain_numbers() {
    Shown s;
    s.panel.view()->selectAll();
    s.panel.copy_csv();
    const QStringList lines = QGuiApplication::clipboard()->text().split("\r\n", Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 4);
    QVERIFY(lines[0].startsWith("Executed,Requested,Role,Steps,Query"));
    QVERIFY2(lines[2].startsWith("sdnq,sdnq,transformer,0-5,1x8x4608x64,1x8x4608x64,bf16,none,contiguous,36,,0.878"),
             qPrintable(lines[2]));
    s.panel.show_calls(true);
    s.panel.calls().view()->selectRow(40);
    s.panel.copy_csv();
    QVERIFY(QGuiApplication::clipboard()->text().contains("\r\n40,,vae,6,sdpa,sdnq,1x8x16384x64"));
  }

  void columns_give_way_in_a_small_window_and_come_back() {
    Shown s;
    RouteList& list = s.panel.routes();
    const auto fits = [&] { return list.view()->horizontalHeader()->length() <= list.view()->viewport()->width() + 1; };
    const auto choose = [&](TableList& of, const char* begins) {
      QMenu columns;
      of.fill_columns_menu(&columns);
      for (QAction* action : columns.actions()) {
        if (action->text().startsWith(begins)) action->toggle();
      }
    };
    QVERIFY(fits());
    const int wide = list.view()->columnWidth(RouteModel::executed);
    s.panel.resize(634, 500);
    QVERIFY(fits());
    for (const int column : {RouteModel::executed, RouteModel::requested, RouteModel::role, RouteModel::query,
                             RouteModel::calls, RouteModel::time, RouteModel::share}) {
      QVERIFY2(!list.view()->isColumnHidden(column), spec_of(static_cast<RouteColumn>(column)).title);
    }
    QVERIFY(list.is_chosen(RouteModel::strides) && list.view()->isColumnHidden(RouteModel::strides));
    QVERIFY(list.without_room().contains("Strides"));
    QVERIFY(s.panel.findChild<QToolButton*>("columns")->text().startsWith("Columns +"));
    // Copied all the same.
    list.view()->selectAll();
    list.copy_text();
    QVERIFY(QGuiApplication::clipboard()->text().section('\n', 0, 0).contains("Strides"));
    // Asked for, it is there, and stays.
    choose(list, "Strides (no room)");
    QVERIFY(!list.view()->isColumnHidden(RouteModel::strides));
    s.panel.resize(1000, 500);
    QTRY_VERIFY(list.without_room().isEmpty() && fits());
    QCOMPARE(list.view()->columnWidth(RouteModel::executed), wide);
    s.panel.show_calls(true);
    s.panel.resize(634, 500);
    QVERIFY(s.panel.calls().view()->horizontalHeader()->length() <= s.panel.calls().view()->viewport()->width() + 1);
    QVERIFY(!s.panel.calls().view()->isColumnHidden(static_cast<int>(CallColumn::time)));
  }

  void a_comparison_with_errors_fits_a_small_window() {
    Shown s;
    s.panel.resize(634, 500);
    RouteList& list = s.panel.routes();
    list.set_baseline(std::make_shared<const BaselineRoutes>(s.table.snapshot(0), "#1"));
    list.set_errors([](const trace::RouteRow&) { return std::optional(RouteModel::RouteError{0.026, {}}); });
    QVERIFY2(list.view()->horizontalHeader()->length() <= list.view()->viewport()->width() + 1,
             qPrintable(QString::number(list.view()->horizontalHeader()->length())));
    // A change stands beside what changed.
    const QHeaderView* header = list.view()->horizontalHeader();
    QCOMPARE(header->visualIndex(RouteModel::time_change), header->visualIndex(RouteModel::time) + 1);
    QCOMPARE(header->visualIndex(RouteModel::calls_change), header->visualIndex(RouteModel::calls) + 1);
    QCOMPARE(header->visualIndex(RouteModel::backend_then), header->visualIndex(RouteModel::executed) + 1);
    for (const int column : {RouteModel::executed, RouteModel::backend_then, RouteModel::error, RouteModel::role,
                             RouteModel::query, RouteModel::calls, RouteModel::time, RouteModel::time_change}) {
      QVERIFY2(!list.view()->isColumnHidden(column), spec_of(static_cast<RouteColumn>(column)).title);
    }
    // The calls compare too, and both stop when there is no baseline any more.
    s.panel.show_calls(true);
    QTableView* calls = s.panel.calls().view();
    QVERIFY(!calls->isColumnHidden(static_cast<int>(CallColumn::backend_then)));
    QVERIFY(!calls->isColumnHidden(static_cast<int>(CallColumn::time_change)));
    QVERIFY(calls->horizontalHeader()->length() <= calls->viewport()->width() + 1);
    QCOMPARE(calls->model()->index(4, static_cast<int>(CallColumn::backend_then)).data().toString(), QString("sdnq"));
    list.set_baseline(nullptr);
    QVERIFY(calls->isColumnHidden(static_cast<int>(CallColumn::backend_then)));
    QVERIFY(list.view()->isColumnHidden(RouteModel::time_change) && list.is_chosen(RouteModel::requested));
  }

  void groups_columns_and_filters_are_kept() {
    const QTemporaryDir place;
    const QString file = place.filePath("settings.ini");
    {
      Shown s;
      s.panel.findChild<QComboBox*>("route_grouping")->setCurrentIndex(1);
      QCOMPARE(printed(*s.panel.view()->model(), {RouteModel::executed}),
               (QStringList{"te", "sage", "transformer", "sdnq", "vae", "sdpa"}));
      QMenu columns;
      s.panel.routes().fill_columns_menu(&columns);
      for (QAction* action : columns.actions()) {
        if (action->text() == "Kernel" || action->text() == "Share") action->toggle();
      }
      auto* saved = s.panel.findChild<SavedFilters*>();
      QVERIFY(saved->keep("the VAE", "role:vae"));
      QVERIFY(!saved->keep("wrong", "rolle:vae"));
      QSettings settings(file, QSettings::IniFormat);
      s.panel.save(settings);
    }
    Shown s;
    const QSettings settings(file, QSettings::IniFormat);
    s.panel.restore(settings);
    QVERIFY(!s.panel.view()->isColumnHidden(RouteModel::kernel));
    QVERIFY(s.panel.view()->isColumnHidden(RouteModel::share));
    QCOMPARE(s.panel.view()->model()->rowCount(), 6);
    const std::vector<SavedFilter> expected{{"the VAE", "role:vae"}};
    QVERIFY(s.panel.findChild<SavedFilters*>()->saved() == expected);
    s.panel.routes().reset_columns();
    QVERIFY(s.panel.view()->isColumnHidden(RouteModel::kernel));
    QVERIFY(!s.panel.view()->isColumnHidden(RouteModel::share));
  }
};

QTEST_MAIN(RoutePanelTest)
#include "route_panel_test.moc"
