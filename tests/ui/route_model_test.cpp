// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_model.h"

#include "printed.h"
#include "ui/filter/filter_parser.h"
#include "ui/route_table/route_filter.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QtTest>

using namespace attn;
using namespace attn::ui;
using attn::test::printed;

namespace {

trace::RouteRow row_of(const char* backend, Role role, int tokens, std::int64_t calls) {
  trace::RouteRow row;
  row.id.backend = backend;
  row.id.role = role;
  row.id.query.size = {1, 24, tokens, 128};
  row.id.query.rank = 4;
  row.id.key = row.id.query;
  row.value = row.id.key;
  row.requested = "sdnq";
  row.executed = QString(backend).section('+', 0, 0).toStdString();
  row.calls = calls;
  return row;
}

trace::TraceSnapshot snapshot_of(std::vector<trace::RouteRow> rows) {
  trace::TraceSnapshot snapshot;
  for (const trace::RouteRow& row : rows) snapshot.calls += row.calls;
  snapshot.routes = std::move(rows);
  return snapshot;
}

const QList<int> kBrief{RouteModel::executed, RouteModel::requested, RouteModel::role,
                        RouteModel::calls,    RouteModel::time,      RouteModel::share};

}  // namespace

class RouteModelTest : public QObject {
  Q_OBJECT

 private slots:
  void a_route_reads_like_a_sentence() {
    RouteModel model;
    trace::RouteRow row = row_of("sdnq+sparse", Role::transformer, 4608, 1596);
    row.variant = "int8";
    row.density = 0.39;
    row.last_step = 27;
    row.query_layout = Layout::fused_qkv;
    model.set_snapshot(snapshot_of({row}));
    row.value_dtype = DType::float32;
    row.nan_count = 4096;
    row.first_bad_step = 3;
    row.error = 0.0312;
    model.set_snapshot(snapshot_of({row}));
    QCOMPARE(
        printed(model),
        QStringList{"sdnq+sparse int8 · 39 % kept | int8 | sdnq |  | transformer | 0–27 | 1×24×4608×128 | "
                    "1×24×4608×128 | 1×24×4608×128 | q bf16, k bf16, v fp32 | none | q fused-qkv, k contiguous, v "
                    "contiguous | 1\u202f596 | – | 100 % | 0.0312 | 39.0 % | 4\u202f096 NaN from step 3 |  |  |  | "});
  }

  void rows_arrive_in_batches_and_keep_their_places() {
    RouteModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    model.set_snapshot(snapshot_of({row_of("sage", Role::te, 77, 12)}));
    model.set_snapshot(snapshot_of({row_of("sage", Role::te, 77, 24), row_of("sdnq", Role::transformer, 4608, 57),
                                    row_of("sdpa", Role::vae, 16384, 1)}));
    QCOMPARE(inserted.size(), 2);
    QCOMPARE(changed.size(), 1);
    QCOMPARE(reset.size(), 0);
    QCOMPARE(printed(model, kBrief),
             (QStringList{"sage | sdnq ≠ | te | 24 | – | 29.3 %", "sdnq | sdnq | transformer | 57 | – | 69.5 %",
                          "sdpa | sdnq ≠ | vae | 1 | – | 1.2 %"}));
    model.set_snapshot(snapshot_of({row_of("flash", Role::te, 77, 1)}));
    QCOMPARE(reset.size(), 1);
    model.set_snapshot({});
    QCOMPARE(model.rowCount(), 0);
  }

  void an_equal_snapshot_says_nothing() {
    RouteModel model;
    const auto run = snapshot_of({row_of("sage", Role::te, 77, 12), row_of("sdnq", Role::transformer, 4608, 57)});
    model.set_snapshot(run);
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    QSignalSpy inserted(&model, &QAbstractItemModel::rowsInserted);
    model.set_snapshot(run);
    QCOMPARE(changed.size() + inserted.size(), 0);
  }

  void time_of_representatives_is_scaled_and_marked() {
    RouteModel model;
    trace::RouteRow one = row_of("sdnq", Role::transformer, 4608, 100);
    one.computed_calls = 1;
    one.seconds = 0.3;
    trace::RouteRow all = row_of("sage", Role::te, 77, 10);
    all.computed_calls = 10;
    all.seconds = 10.0;
    model.set_snapshot(snapshot_of({one, all}));
    QVERIFY(model.shares_time());
    QCOMPARE(printed(model, kBrief), (QStringList{"sdnq | sdnq | transformer | 100 | ≈ 30.0 s | 75.0 %",
                                                  "sage | sdnq ≠ | te | 10 | 10.0 s | 25.0 %"}));
  }

  void the_filter_is_kept_to_while_rows_arrive() {
    RouteModel model;
    RouteFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    filter.sort(RouteModel::calls, Qt::DescendingOrder);
    filter.set_filter(parse_filter("sdnq -vae").filter);
    std::vector<trace::RouteRow> rows;
    for (int i = 0; i < 20; ++i) {
      rows.push_back(row_of(i % 2 == 0 ? "sdnq" : "sage", i % 5 == 0 ? Role::vae : Role::transformer, 64 + i, i));
      for (trace::RouteRow& row : rows) row.calls += 2;
      model.set_snapshot(snapshot_of(rows));
    }
    // "sdnq" also stands in the requested column, so only the roles tell.
    QCOMPARE(filter.rowCount(), 16);
    filter.set_filter(parse_filter("backend:sage fallback:yes q:67").filter);
    QCOMPARE(printed(filter, {RouteModel::executed, RouteModel::query}), QStringList{"sage | 1×24×67×128"});
    filter.set_filter({});
    QCOMPARE(filter.rowCount(), 20);
    const int first = filter.index(0, RouteModel::calls).data(RouteModel::sort_role).toInt();
    const int last = filter.index(19, RouteModel::calls).data(RouteModel::sort_role).toInt();
    QVERIFY(first >= last);
  }

  void groups_stand_over_their_routes_however_these_are_sorted() {
    RouteModel model;
    RouteFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.set_grouping(Grouping::role);
    filter.sort_again();
    std::vector<trace::RouteRow> rows;
    for (const auto& [backend, role, calls] : {std::tuple{"sdpa", Role::vae, 1},
                                               {"sdnq", Role::transformer, 50},
                                               {"sage", Role::te, 12},
                                               {"flex", Role::transformer, 7}}) {
      rows.push_back(row_of(backend, role, 64, calls));
      model.set_snapshot(snapshot_of(rows));
    }
    const QList<int> brief{RouteModel::executed, RouteModel::calls, RouteModel::share};
    QCOMPARE(printed(filter, brief),
             (QStringList{"te | 12 | 17.1 %", "sage | 12 | 17.1 %", "transformer | 57 | 81.4 %", "sdnq | 50 | 71.4 %",
                          "flex | 7 | 10.0 %", "vae | 1 | 1.4 %", "sdpa | 1 | 1.4 %"}));
    QCOMPARE(filter.routes(), 4);
    filter.sort(RouteModel::calls, Qt::DescendingOrder);
    QCOMPARE(printed(filter, {RouteModel::executed}),
             (QStringList{"te", "sage", "transformer", "sdnq", "flex", "vae", "sdpa"}));
    filter.sort(RouteModel::calls, Qt::AscendingOrder);
    QCOMPARE(printed(filter, {RouteModel::executed}),
             (QStringList{"te", "sage", "transformer", "flex", "sdnq", "vae", "sdpa"}));
    filter.set_filter(parse_filter("calls>=12").filter);
    QCOMPARE(printed(filter, {RouteModel::executed}), (QStringList{"te", "sage", "transformer", "sdnq"}));
    filter.set_filter({});
    model.set_grouping(Grouping::backend);
    filter.sort_again();
    QCOMPARE(filter.rowCount(), 8);
    model.set_grouping(Grouping::none);
    filter.sort_again();
    QCOMPARE(filter.rowCount(), 4);
  }

  void by_step_a_route_has_a_row_for_each_of_its_steps() {
    RouteModel model;
    RouteFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.set_grouping(Grouping::step);
    filter.sort_again();
    trace::TraceSnapshot run =
        snapshot_of({row_of("sdnq", Role::transformer, 4608, 0), row_of("sdpa", Role::te, 77, 0)});
    run.steps = {{1, 0, 12, 0, 0.0}};
    for (int step = 0; step < 3; ++step) {
      run.steps.push_back({0, step, 57, 0, 0.0});
      run.calls = 12 + 57 * (step + 1);
      model.set_snapshot(run);
    }
    QCOMPARE(printed(filter, {RouteModel::executed, RouteModel::steps, RouteModel::calls}),
             (QStringList{"step 0 |  | 69", "sdpa | 0 | 12", "sdnq | 0 | 57", "step 1 |  | 57", "sdnq | 1 | 57",
                          "step 2 |  | 57", "sdnq | 2 | 57"}));
    const trace::RouteIdentity sdnq = run.routes[0].id;
    QCOMPARE(model.row(model.find(sdnq, 2)).first_step, 2);
    QCOMPARE(model.find(sdnq, 9), -1);
  }

  void a_cell_stands_for_a_filter_that_keeps_its_row() {
    trace::RouteRow row = row_of("sdnq+sparse", Role::transformer, 4608, 1596);
    row.last_step = 27;
    row.variant = "int8";
    row.selected = "sdnq";
    row.mask = trace::MaskKind::additive;
    row.mask_pattern = trace::MaskPattern::key_padding;
    row.query_layout = Layout::fused_qkv;
    row.computed_calls = 2;
    row.seconds = 0.5;
    row.density = 0.4;
    row.nan_count = 1;
    row.error = 0.25;
    RouteModel model;
    model.set_snapshot(snapshot_of({row}));
    int terms = 0;
    for (int column = 0; column < RouteModel::kColumns; ++column) {
      const QString term = cell_filter(row, static_cast<RouteColumn>(column));
      if (term.isEmpty()) continue;
      ++terms;
      const ParsedFilter parsed = parse_filter(term);
      QVERIFY2(!parsed.error, qPrintable(term));
      QVERIFY2(parsed.filter.matches(model.filter_row(0)), qPrintable(term));
      QVERIFY2(!parse_filter("-(" + term + ')').filter.matches(model.filter_row(0)), qPrintable(term));
    }
    QCOMPARE(terms, RouteModel::kColumns - 6);  // value, share, and four that compare
    QCOMPARE(model.values_of(FilterField::mask), QStringList{"key padding, additive"});
    QCOMPARE(model.values_of(FilterField::backend), QStringList{"sdnq+sparse"});
  }

  void a_baseline_gives_each_row_what_its_calls_were() {
    RouteModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const auto timed = [](trace::RouteRow row, double seconds) {
      row.computed_calls = row.calls;
      row.seconds = seconds;
      return row;
    };
    trace::TraceSnapshot then = snapshot_of(
        {timed(row_of("flash", Role::transformer, 4608, 10), 2.0), timed(row_of("sage", Role::te, 77, 10), 2.0)});
    then.steps = {{1, 0, 10, 10, 2.0}, {0, 0, 5, 5, 1.0}, {0, 1, 5, 5, 1.0}};
    trace::TraceSnapshot now =
        snapshot_of({timed(row_of("sdnq", Role::transformer, 4608, 10), 1.0),
                     timed(row_of("sage", Role::te, 77, 10), 2.5), timed(row_of("sdpa", Role::vae, 64, 1), 0.5)});
    now.steps = {{1, 0, 10, 10, 2.5}, {0, 0, 5, 5, 0.4}, {0, 1, 5, 5, 0.6}, {2, 2, 1, 1, 0.5}};
    const QList<int> changes{RouteModel::executed, RouteModel::backend_then, RouteModel::time_change,
                             RouteModel::calls_change, RouteModel::share_change};
    model.set_snapshot(now);
    QCOMPARE(printed(model, changes), (QStringList{"sdnq |  |  |  | ", "sage |  |  |  | ", "sdpa |  |  |  | "}));
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    model.set_baseline(std::make_shared<const BaselineRoutes>(then, "#2"));
    QVERIFY(!changed.isEmpty());
    QCOMPARE(printed(model, changes),
             (QStringList{"sdnq | flash ≠ | −1.0 s (−50 %) | ±0 | −25.0 pp",
                          "sage | sage | +500 ms (+25 %) | ±0 | +12.5 pp", "sdpa | new | – | +1 | –"}));
    const auto tone = [&](int row) {
      return model.index(row, RouteModel::time_change).data(RouteModel::tone_role).toInt();
    };
    QCOMPARE(tone(0), -1);
    QCOMPARE(tone(1), 1);
    QCOMPARE(tone(2), 0);
    QCOMPARE(model.index(0, RouteModel::backend_then).data(Qt::ToolTipRole).toString(),
             QString("In the baseline #2, 10 calls of this kind went to flash."));
    QCOMPARE(model.against().sentence(), QString("10 calls moved, 1 new"));
    model.set_grouping(Grouping::step);
    QCOMPARE(
        printed(model, {RouteModel::executed, RouteModel::steps, RouteModel::time_change}),
        (QStringList{"sage | 0 | +500 ms (+25 %)", "sdnq | 0 | −600 ms (−60 %)", "sdnq | 1 | −400 ms (−40 %)",
                     "sdpa | 2 | –", "step 0 |  | −100 ms (−3.3 %)", "step 1 |  | −400 ms (−40 %)", "step 2 |  | –"}));
    model.set_baseline(nullptr);
    QCOMPARE(model.index(0, RouteModel::time_change).data().toString(), QString());
  }

  void measured_errors_stand_in_their_rows() {
    RouteModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.set_snapshot(snapshot_of({row_of("sdnq", Role::transformer, 4608, 10), row_of("sage", Role::te, 77, 10)}));
    model.set_errors([](const trace::RouteRow& row) -> std::optional<RouteModel::RouteError> {
      if (row.id.backend != "sage") return std::nullopt;
      return RouteModel::RouteError{0.0125, "on 2 of 24 heads"};
    });
    QCOMPARE(printed(model, {RouteModel::executed, RouteModel::error}), (QStringList{"sdnq | –", "sage | 0.0125"}));
    QCOMPARE(model.index(1, RouteModel::error).data(Qt::ToolTipRole).toString(), QString("on 2 of 24 heads"));
    QVERIFY(model.index(0, RouteModel::error).data(Qt::ToolTipRole).toString().contains("Measure error"));
  }

  void every_column_explains_itself() {
    RouteModel model;
    for (int column = 0; column < RouteModel::kColumns; ++column) {
      QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
      QVERIFY(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().size() > 10);
    }
  }
};

QTEST_GUILESS_MAIN(RouteModelTest)
#include "route_model_test.moc"
