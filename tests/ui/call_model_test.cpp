// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_model.h"

#include "printed.h"
#include "ui/filter/filter_parser.h"
#include "ui/route_table/route_changes.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QtTest>

using namespace attn;
using namespace attn::ui;
using attn::test::printed;

namespace {

trace::RouteEvent event_of(int at) {
  static constexpr std::string_view kNames[] = {"sdnq", "sage", "sdpa"};
  trace::RouteEvent event;
  event.requested = event.selected = "sdnq";
  event.executed = event.variant = kNames[at % 3];
  event.query = event.key = event.value = {{1, 8, at % 2 == 0 ? 4608 : 77, 64, 0}, 4};
  event.role = at % 7 == 0 ? Role::te : Role::transformer;
  event.step = at / 100;
  event.computed = true;
  event.begin_ns = 1 + at * std::int64_t{1'000'000};
  event.end_ns = event.begin_ns + at * std::int64_t{7919} % 1000 * 1000 + 1000;
  event.nan_count = at % 500 == 499 ? 3 : 0;
  return event;
}

const QList<int> kBrief{static_cast<int>(CallColumn::number), static_cast<int>(CallColumn::executed),
                        static_cast<int>(CallColumn::step), static_cast<int>(CallColumn::time)};

/// A log that grows, the model that shows it, and the tester that watches both.
struct Bench {
  trace::CallLog log;
  CallModel model;
  QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::QtTest};
  int made = 0;

  void add(int calls) {
    for (int i = 0; i < calls; ++i) log.add(event_of(made++));
    model.set_calls(log.view());
  }
  void settle() { QTRY_VERIFY(!model.is_busy()); }
};

}  // namespace

class CallModelTest : public QObject {
  Q_OBJECT

 private slots:
  void a_call_reads_like_a_sentence() {
    Bench b;
    b.add(2);
    trace::RouteEvent sparse = event_of(4);
    sparse.sparse = true;
    sparse.density = 0.31F;
    sparse.variant = "int8";
    sparse.causal = true;
    sparse.stage_reason = "masked";
    b.log.add(sparse);
    b.model.set_calls(b.log.view());
    QCOMPARE(printed(b.model)[2],
             QString("2 | 0.0040 s | transformer | 0 | sage+sparse int8 | sdnq ≠ | sdnq | 1×8×4608×64 | 1×8×4608×64 | "
                     "1×8×4608×64 | bf16 | causal | contiguous | 677 µs | 31.0 % | – | masked |  | "));
  }

  void calls_carry_what_their_like_took_in_the_baseline() {
    // Then: sage in step 0, 2 ms each, and nothing of the text encoder's. Now: sdnq in 1 ms, flash in 4 ms.
    const auto call = [](std::string_view backend, Role role, int at, int millis) {
      trace::RouteEvent event = event_of(at);
      event.executed = event.variant = backend;
      event.role = role;
      event.step = 0;
      event.query = event.key = event.value = {{1, 8, role == Role::te ? 77 : 4608, 64, 0}, 4};
      event.nan_count = 0;
      event.end_ns = event.begin_ns + std::int64_t{1'000'000} * millis;
      return event;
    };
    trace::RouteTable then;
    for (int i = 0; i < 4; ++i) then.add(call("sage", Role::transformer, i, 2));
    const BaselineRoutes baseline(then.snapshot(0), "#1");
    trace::RouteTable now;
    Bench b;
    const std::tuple<const char*, Role, int> calls[] = {{"sdnq", Role::transformer, 1},
                                                        {"flash", Role::transformer, 4},
                                                        {"sage", Role::transformer, 2},
                                                        {"sage", Role::te, 1}};
    for (const auto& [backend, role, millis] : calls) {
      now.add(call(backend, role, b.made, millis));
      b.log.add(call(backend, role, b.made++, millis));
    }
    b.model.set_calls(b.log.view());
    const QList<int> columns{static_cast<int>(CallColumn::executed), static_cast<int>(CallColumn::backend_then),
                             static_cast<int>(CallColumn::time_change)};
    QCOMPARE(printed(b.model, columns).front(), QString("sdnq |  | "));
    const auto match = std::make_shared<const RouteMatch>(baseline.index, CallIndex(now.snapshot(0)));
    QSignalSpy changed(&b.model, &QAbstractItemModel::dataChanged);
    b.model.set_changes(std::make_shared<const CallChanges>(match, now.snapshot(0), "#1"));
    QCOMPARE(changed.size(), 1);
    const QStringList expected{"sdnq | sage ≠ | −1.0 ms (−50 %)", "flash | sage ≠ | +2.0 ms (+100 %)",
                               "sage | sage | ±0", "sage | new | –"};
    QCOMPARE(printed(b.model, columns), expected);
    const auto cell = [&](int row, CallColumn column) { return b.model.index(row, static_cast<int>(column)); };
    QCOMPARE(cell(0, CallColumn::time_change).data(CallModel::tone_role).toInt(), -1);
    QCOMPARE(cell(1, CallColumn::time_change).data(CallModel::tone_role).toInt(), 1);
    QCOMPARE(cell(1, CallColumn::time_change).data(CallModel::brief_role).toString(), QString("+100 %"));
    QVERIFY(cell(0, CallColumn::backend_then).data(CallModel::differs_role).toBool());
    QCOMPARE(cell(0, CallColumn::backend_then).data(Qt::ToolTipRole).toString(),
             QString("In the baseline #1 such calls went to sage and took 2.0 ms each."));
    QCOMPARE(plain_text(b.model.at(0), CallColumn::time_change).toDouble(), -0.001);
    // Slowest against the baseline first, what has no time last; then what is new or moved first.
    b.model.sort(static_cast<int>(CallColumn::time_change), Qt::DescendingOrder);
    b.settle();
    QCOMPARE(printed(b.model, columns), (QStringList{expected[1], expected[2], expected[0], expected[3]}));
    b.model.sort(static_cast<int>(CallColumn::backend_then), Qt::DescendingOrder);
    b.settle();
    QCOMPARE(printed(b.model, columns), (QStringList{expected[3], expected[0], expected[1], expected[2]}));
    b.model.set_changes(nullptr);
    b.model.sort(-1, Qt::AscendingOrder);
    b.settle();
    QCOMPARE(printed(b.model, columns).front(), QString("sdnq |  | "));
  }

  void calls_arrive_in_batches_as_they_were_made() {
    Bench b;
    QSignalSpy inserted(&b.model, &QAbstractItemModel::rowsInserted);
    QSignalSpy reset(&b.model, &QAbstractItemModel::modelReset);
    for (int i = 0; i < 5; ++i) b.add(1000);
    QCOMPARE(inserted.size(), 5);
    QCOMPARE(b.model.rowCount(), 5000);
    QCOMPARE(printed(b.model, kBrief)[499], QString("499 | sage | 4 | 582 µs"));
    b.model.set_calls(b.log.view());
    QCOMPARE(inserted.size(), 5);
    QCOMPARE(reset.size(), 0);
    b.log.reset();
    b.made = 0;
    b.add(3);
    QCOMPARE(reset.size(), 1);
    QCOMPARE(b.model.rowCount(), 3);
  }

  void a_filter_holds_for_what_is_there_and_for_what_arrives() {
    Bench b;
    b.add(2000);
    b.model.set_filter(parse_filter("backend:sage step:2..3 q>100").filter);
    b.settle();
    QCOMPARE(b.model.rowCount(), 33);
    QCOMPARE(printed(b.model, kBrief).front(), QString("202 | sage | 2 | 639 µs"));
    b.model.set_filter(parse_filter("nan>0").filter);
    b.settle();
    QCOMPARE(b.model.rowCount(), 4);
    QSignalSpy inserted(&b.model, &QAbstractItemModel::rowsInserted);
    b.add(1000);
    QCOMPARE(b.model.rowCount(), 6);
    QCOMPARE(inserted.size(), 1);
    b.add(400);  // none of these
    QCOMPARE(inserted.size(), 1);
    b.add(static_cast<int>(CallModel::kAtOnce) + 600);  // too many for the GUI thread
    QVERIFY(b.model.is_busy());
    b.add(500);
    b.settle();
    QCOMPARE(b.model.rowCount(), b.made / 500);
    QCOMPARE(b.model.row_of(499), 0);
    QCOMPARE(b.model.row_of(500), -1);
    b.model.set_filter({});
    b.settle();
    QCOMPARE(b.model.rowCount(), b.made);
  }

  void sorting_is_by_number_by_text_and_back() {
    Bench b;
    b.add(1500);
    b.model.sort(static_cast<int>(CallColumn::time), Qt::DescendingOrder);
    b.settle();
    double before = 1.0;
    for (int row = 0; row < b.model.rowCount(); ++row) {
      const auto now = static_cast<double>(b.model.at(row).call.seconds);
      QVERIFY(now <= before);
      before = now;
    }
    b.model.sort(static_cast<int>(CallColumn::query), Qt::AscendingOrder);  // 77 before 4608
    b.settle();
    QCOMPARE(b.model.at(0).index, std::size_t{1});
    QCOMPARE(b.model.at(1).index, std::size_t{3});
    QCOMPARE(b.model.at(750).index, std::size_t{0});
    b.model.sort(static_cast<int>(CallColumn::number), Qt::DescendingOrder);
    b.settle();
    QCOMPARE(b.model.at(0).index, std::size_t{1499});
    QCOMPARE(b.model.row_of(0), 1499);
    b.model.sort(-1, Qt::AscendingOrder);
    b.settle();
    QVERIFY(b.model.is_plain());
    QCOMPARE(b.model.at(3).index, std::size_t{3});
  }

  void a_sorted_list_takes_in_what_arrives() {
    Bench b;
    b.add(1000);
    b.model.sort(static_cast<int>(CallColumn::number), Qt::DescendingOrder);
    b.settle();
    b.add(10);
    QCOMPARE(b.model.rowCount(), 1000);
    QTRY_COMPARE(b.model.rowCount(), 1010);
    QCOMPARE(b.model.at(0).index, std::size_t{1009});
  }

  void only_the_newest_question_is_answered() {
    Bench b;
    b.add(200'000);
    QSignalSpy reset(&b.model, &QAbstractItemModel::modelReset);
    for (int i = 0; i < 50; ++i) {
      b.model.sort(static_cast<int>(i % 2 == 0 ? CallColumn::time : CallColumn::number), Qt::DescendingOrder);
    }
    b.model.set_filter(parse_filter("role:te").filter);
    b.settle();
    QCOMPARE(reset.size(), 1);
    QCOMPARE(b.model.rowCount(), (200'000 + 6) / 7);
    QCOMPARE(b.model.at(0).index, std::size_t{199'997});
    // A new run while a question is open: the answer is about calls that are gone.
    b.model.sort(static_cast<int>(CallColumn::time), Qt::AscendingOrder);
    b.log.reset();
    b.made = 0;
    b.add(7);
    b.settle();
    QCOMPARE(b.model.rowCount(), 1);
  }

  void find_goes_round_in_the_order_that_is_shown() {
    Bench b;
    b.add(1600);
    QSignalSpy found(&b.model, &CallModel::found);
    const auto look = [&](int row, bool backwards) {
      found.clear();
      b.model.find(parse_filter("nan>0").filter, row, backwards);
      if (!found.wait()) return QString("nothing");
      return QString("%1: %2 of %3")
          .arg(found[0][0].toInt())
          .arg(found[0][1].toLongLong())
          .arg(found[0][2].toLongLong());
    };
    QCOMPARE(look(-1, false), QString("499: 0 of 3"));
    QCOMPARE(look(499, false), QString("999: 1 of 3"));
    QCOMPARE(look(1499, false), QString("499: 0 of 3"));
    QCOMPARE(look(499, true), QString("1499: 2 of 3"));
    b.model.sort(static_cast<int>(CallColumn::number), Qt::DescendingOrder);
    b.settle();
    QCOMPARE(look(-1, false), QString("100: 0 of 3"));
    b.model.find(parse_filter("role:vae").filter, 0, false);
    found.clear();
    QVERIFY(found.wait());
    QCOMPARE(found[0][0].toInt(), -1);
  }

  void a_model_that_goes_takes_its_questions_with_it() {
    trace::CallLog log;
    for (int i = 0; i < 300'000; ++i) log.add(event_of(i));
    for (int round = 0; round < 20; ++round) {
      CallModel model;
      model.set_calls(log.view());
      model.sort(static_cast<int>(CallColumn::time), Qt::AscendingOrder);
      model.find(parse_filter("nan>0").filter, 0, false);
      if (round % 2 == 0) QCoreApplication::processEvents();
    }
  }

  void every_column_explains_itself() {
    CallModel model;
    for (int column = 0; column < kCallColumnCount; ++column) {
      QVERIFY(!model.headerData(column, Qt::Horizontal).toString().isEmpty());
      QVERIFY(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().size() > 10);
    }
  }
};

QTEST_GUILESS_MAIN(CallModelTest)
#include "call_model_test.moc"
