// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_model.h"

#include "printed.h"
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
    QCOMPARE(printed(model), QStringList{"sdnq+sparse int8 · 39 % kept | sdnq | transformer | 0–27 | 1×24×4608×128 | "
                                         "1×24×4608×128 | bf16 | none | q fused-qkv, k contiguous, v contiguous | "
                                         "1\u202f596 | – | 100 %"});
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

  void the_filter_takes_words_and_minus_words_while_rows_arrive() {
    RouteModel model;
    RouteFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    filter.sort(RouteModel::calls, Qt::DescendingOrder);
    filter.set_line("sdnq -vae");
    std::vector<trace::RouteRow> rows;
    for (int i = 0; i < 20; ++i) {
      rows.push_back(row_of(i % 2 == 0 ? "sdnq" : "sage", i % 5 == 0 ? Role::vae : Role::transformer, 64 + i, i));
      for (trace::RouteRow& row : rows) row.calls += 2;
      model.set_snapshot(snapshot_of(rows));
    }
    // "sdnq" also stands in the requested column, so only the roles tell.
    QCOMPARE(filter.rowCount(), 16);
    filter.set_line("sage ≠ 1×24×67");
    QCOMPARE(printed(filter, {RouteModel::executed, RouteModel::query}), QStringList{"sage | 1×24×67×128"});
    filter.set_line("-");
    QCOMPARE(filter.rowCount(), 20);
    const int first = filter.index(0, RouteModel::calls).data(RouteModel::sort_role).toInt();
    const int last = filter.index(19, RouteModel::calls).data(RouteModel::sort_role).toInt();
    QVERIFY(first >= last);
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
