// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/calls/call_log.h"

#include "support/oracle.h"
#include "trace/collector.h"

#include <QtTest>

#include <atomic>
#include <thread>

using namespace attn::trace;
using attn::DType;
using attn::Layout;
using attn::Role;
using attn::test::q;

namespace {

RouteEvent event_of(std::string_view backend, std::int32_t tokens, std::int32_t step = 0) {
  RouteEvent event;
  event.requested = event.selected = event.executed = backend;
  event.variant = "int8";
  event.query = event.key = event.value = {{1, 8, tokens, 64, 0}, 4};
  event.role = Role::transformer;
  event.step = step;
  return event;
}

void ran(RouteEvent& event, std::int64_t begin_ns, std::int64_t nanoseconds) {
  event.computed = true;
  event.begin_ns = begin_ns;
  event.end_ns = begin_ns + nanoseconds;
}

}  // namespace

class CallLogTest : public QObject {
  Q_OBJECT

 private slots:
  void calls_keep_their_order_and_their_own_facts() {
    CallLog log;
    RouteEvent event = event_of("sdnq", 4608, 3);
    ran(event, 1000, 2'000'000);
    log.add(event);
    event.step = 4;
    event.sparse = true;
    event.density = 0.25F;
    event.nan_count = 7;
    event.inf_count = 2;
    ran(event, 5'001'000, 1'000'000);
    log.add(event);
    const CallView view = log.view();
    QCOMPARE(view.size(), std::size_t{2});
    QCOMPARE(view[0].begin_ns, qint64{0});
    QCOMPARE(view[1].begin_ns, qint64{5'000'000});
    QCOMPARE(view[0].seconds, 0.002F);
    QCOMPARE(view[1].step, 4);
    QCOMPARE(view[1].density, 0.25F);
    QVERIFY(view[1].nan_count == 7 && view[1].inf_count == 2);
    QVERIFY(view.all_timed());
    QCOMPARE(q(view.kind_of(view[0]).route.id.backend), q("sdnq"));
    QCOMPARE(q(view.kind_of(view[1]).route.id.backend), q("sdnq+sparse"));
    QCOMPARE(view.kind_of(view[0]).route.calls, qint64{0});
    log.add(event_of("sdnq", 4608));
    QVERIFY(!log.view().all_timed());
    QVERIFY(!log.view()[2].timed());
    QVERIFY(view.all_timed());
  }

  void whatever_calls_differ_in_beyond_step_and_time_makes_a_kind() {
    std::vector<RouteEvent> events(19, event_of("sdnq", 64));
    events[1].requested = "sage";
    events[2].selected = "sage";
    events[3].executed = "sage";
    events[4].variant = "fp8";
    events[5].stage_reason = "masked";
    events[6].query.size[4] = 2;
    events[7].key.size[0] = 2;
    events[8].value.size[3] = 32;
    events[9].role = Role::vae;
    events[10].query_dtype = DType::float16;
    events[11].value_dtype = DType::float32;
    events[12].value_layout = Layout::transposed;
    events[13].mask = MaskKind::additive;
    events[14].mask_pattern = MaskPattern::causal;
    events[15].causal = true;
    events[16].computed = true;
    events[17].bypassed = true;
    events[18].gqa = true;
    CallLog log;
    for (int round = 0; round < 2; ++round) {
      for (RouteEvent& event : events) {
        event.step = round;
        log.add(event);
      }
    }
    const CallView view = log.view();
    QCOMPARE(view.kinds(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      QCOMPARE(view[i].kind, view[i + events.size()].kind);
      QVERIFY(view.kind_of(view[i]).route.id == identity_of(events[i]));
    }
    QCOMPARE(q(view.kind(5).stage_reason), q("masked"));
  }

  void a_full_log_keeps_the_first_calls_and_counts_the_rest() {
    CallLog log(CallView::kChunk + 3);
    for (std::size_t i = 0; i < CallView::kChunk + 10; ++i) log.add(event_of("sdpa", 64, static_cast<int>(i)));
    CallView view = log.view();
    QCOMPARE(view.size(), CallView::kChunk + 3);
    QCOMPARE(view.left_out(), qint64{7});
    QCOMPARE(view[CallView::kChunk + 2].step, static_cast<int>(CallView::kChunk + 2));
    const std::uint64_t run = view.run();
    log.reset();
    log.add(event_of("flash", 64, 5));
    QCOMPARE(view[0].step, 0);  // a view outlives its run
    view = log.view();
    QVERIFY(view.run() != run);
    QCOMPARE(view.size(), std::size_t{1});
    QCOMPARE(view.left_out(), qint64{0});
    CallLog none(0);
    none.add(event_of("sdpa", 64));
    QCOMPARE(none.view().size() + static_cast<std::size_t>(none.view().left_out()), std::size_t{0});
  }

  void kinds_are_bounded_too() {
    CallLog log;
    for (std::size_t i = 0; i < CallLog::kMostKinds + 5; ++i) log.add(event_of("sdpa", static_cast<int>(i)));
    QCOMPARE(log.view().kinds(), CallLog::kMostKinds);
    QCOMPARE(log.view().left_out(), qint64{5});
  }

  void a_view_is_read_while_the_collector_goes_on() {
    EventRing ring;
    Collector collector(ring, {.sink = {}, .on_change = {}, .keep_calls = 200'000});
    std::thread job([&ring] {
      for (int i = 0; i < 100'000; ++i) {
        while (!ring.push(event_of(i % 2 == 0 ? "sdnq" : "sdpa", 64, i))) std::this_thread::yield();
      }
    });
    std::size_t seen = 0;
    bool in_order = true;
    while (seen < 100'000) {
      const CallView view = collector.calls();
      for (; seen < view.size(); ++seen) {
        in_order = in_order && view[seen].step == static_cast<int>(seen) && view.kind_of(view[seen]).route.calls == 0;
      }
    }
    job.join();
    QVERIFY(in_order);
    QCOMPARE(collector.snapshot().calls, qint64{100'000});
    collector.begin_run();
    QVERIFY(collector.calls().empty());
  }
};

QTEST_GUILESS_MAIN(CallLogTest)
#include "call_log_test.moc"
