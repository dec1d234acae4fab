// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/routes/route_table.h"

#include "support/oracle.h"

#include <QtTest>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

using attn::DType;
using attn::Layout;
using attn::Role;
using attn::test::q;
using attn::trace::RouteEvent;
using attn::trace::RouteRow;
using attn::trace::RouteTable;
using attn::trace::TraceSnapshot;

namespace {

std::atomic<std::int64_t> allocations{0};

RouteEvent event_of(std::string_view backend, std::int32_t tokens, std::int32_t step = 0) {
  RouteEvent event;
  event.requested = "sdnq";
  event.selected = backend;
  event.executed = backend;
  event.variant = "int8";
  event.query = {{1, 24, tokens, 128, 0}, 4};
  event.key = event.query;
  event.value = event.query;
  event.step = step;
  event.role = Role::transformer;
  return event;
}

void ran(RouteEvent& event, std::int64_t ns) {
  event.computed = true;
  event.begin_ns = 1'000'000'000;
  event.end_ns = event.begin_ns + ns;
}

}  // namespace

// Counts, so that "no allocation once a route is known" is a fact and not a hope.
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

class RouteTableTest : public QObject {
  Q_OBJECT

 private slots:
  void each_part_of_the_identity_makes_a_route_of_its_own();
  void what_is_no_part_of_the_identity_makes_none();
  void counts_times_and_steps_add_up();
  void reasons_for_staying_dense_are_counted_per_route();
  void reasons_for_falling_back_are_counted_per_route();
  void every_route_counts_its_steps();
  void outputs_that_are_not_finite_are_counted_from_the_first();
  void rows_come_busiest_first_and_then_by_first_sighting();
  void clearing_counts_keeps_what_was_seen();
  void shares_split_calls_and_time_by_role_step_and_backend();
  void revisions_grow_with_every_change_and_with_drops();
  void a_flood_allocates_nothing_once_its_routes_are_known();
  void names_are_compared_by_text_and_kept_as_copies();
};

void RouteTableTest::each_part_of_the_identity_makes_a_route_of_its_own() {
  std::vector<RouteEvent> events(12, event_of("sdnq", 4608));
  events[1].executed = "sage";
  events[2].sparse = true;
  events[3].role = Role::te;
  events[4].query.size[2] = 77;
  events[5].key.size[2] = 77;
  events[6].query_dtype = DType::float16;
  events[7].mask = attn::trace::MaskKind::boolean;
  events[8].query_layout = Layout::transposed;
  events[9].query.rank = 3;
  events[10].key.size[1] = 8;
  events[11].key.rank = 5;
  RouteTable table;
  for (const RouteEvent& event : events) QVERIFY(table.add(event));
  for (const RouteEvent& event : events) QVERIFY(!table.add(event));
  QCOMPARE(table.seen(), events.size());
  const TraceSnapshot snapshot = table.snapshot(0);
  QCOMPARE(snapshot.routes.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    QVERIFY(snapshot.routes[i].id == attn::trace::identity_of(events[i]));
    QCOMPARE(snapshot.routes[i].calls, qint64{2});
  }
  QCOMPARE(q(snapshot.routes[2].id.backend), q("sdnq+sparse"));
}

void RouteTableTest::what_is_no_part_of_the_identity_makes_none() {
  std::vector<RouteEvent> events(9, event_of("sdnq", 4608));
  events[1].step = 3;
  events[2].value.size[3] = 64;
  events[3].value_layout = Layout::strided;
  events[4].key_dtype = DType::float32;
  events[5].causal = true;
  events[6].variant = "other";
  events[7].gqa = true;
  events[8].requested = "sage";
  RouteTable table;
  int added = 0;
  for (const RouteEvent& event : events) added += table.add(event) ? 1 : 0;
  QCOMPARE(added, 1);
  // A strided query or a strided key is the same route: one flag stands for both.
  events[0].query_layout = Layout::transposed;
  events[1].key_layout = Layout::expanded;
  events[2].query_layout = Layout::strided;
  events[2].key_layout = Layout::fused_qkv;
  QVERIFY(table.add(events[0]));
  QVERIFY(!table.add(events[1]));
  QVERIFY(!table.add(events[2]));
  const RouteRow row = table.snapshot(0).routes.front();
  QVERIFY(row.variant == "int8" && row.requested == "sdnq" && !row.causal && !row.gqa);
}

void RouteTableTest::counts_times_and_steps_add_up() {
  RouteTable table;
  RouteEvent event = event_of("flex", 16384, 4);
  ran(event, 2'000'000);
  table.add(event);
  event.step = 9;
  event.computed = false;  // planned: counted, not timed
  table.add(event);
  event.step = 7;
  ran(event, 3'000'000);
  table.add(event);
  event.begin_ns = event.end_ns = 0;  // ran with timing off
  table.add(event);
  const RouteRow row = table.snapshot(0).routes.at(0);
  QCOMPARE(row.calls, qint64{4});
  QCOMPARE(row.computed_calls, qint64{2});
  QVERIFY(std::abs(row.seconds - 0.005) < 1e-12);
  QCOMPARE(row.first_step, 4);
  QCOMPARE(row.last_step, 7);
  QCOMPARE(row.density, 1.0);
  event.sparse = true;
  event.density = 0.5F;
  table.add(event);
  event.density = 0.25F;
  table.add(event);
  QCOMPARE(table.snapshot(0).routes.at(1).density, 0.25);
}

void RouteTableTest::reasons_for_staying_dense_are_counted_per_route() {
  RouteTable table;
  RouteEvent event = event_of("sdnq", 4608);
  event.stage_reason = "below the minimum sequence";
  for (int i = 0; i < 3; ++i) table.add(event);
  event.stage_reason = "masked";
  table.add(event);
  event.stage_reason = {};
  table.add(event);
  table.add(event_of("sdpa", 77));
  const std::vector<RouteRow> rows = table.snapshot(0).routes;
  QCOMPARE(rows.size(), std::size_t{2});
  const std::vector<attn::trace::StageSkip> expected{{"below the minimum sequence", 3}, {"masked", 1}};
  QVERIFY(rows[0].stage_skips == expected);
  QCOMPARE(rows[0].calls, std::int64_t{5});
  QVERIFY(rows[1].stage_skips.empty());
}

void RouteTableTest::reasons_for_falling_back_are_counted_per_route() {
  RouteTable table;
  RouteEvent event = event_of("sdpa", 4608);
  table.add(event);
  event.fell_back = "own int8 kernel: cudaMalloc of key (1, 24, 4608, 128): out of memory";
  for (int i = 0; i < 2; ++i) table.add(event);
  const std::vector<RouteRow> rows = table.snapshot(0).routes;
  QCOMPARE(rows.size(), std::size_t{1});
  QCOMPARE(rows[0].calls, std::int64_t{3});
  const std::vector<attn::trace::StageSkip> expected{{std::string(event.fell_back), 2}};
  QVERIFY(rows[0].fall_backs == expected);
}

void RouteTableTest::every_route_counts_its_steps() {
  RouteTable table;
  for (std::int32_t step = 0; step < 3; ++step) {
    RouteEvent event = event_of("sdnq", 4608, step);
    ran(event, 1'000'000);
    table.add(event);
    table.add(event);
    table.add(event_of("sdpa", 77, step));
  }
  table.add(event_of("sdnq", 4608, 1));  // back to an earlier step, as a second pass does
  const TraceSnapshot snapshot = table.snapshot(0);
  QCOMPARE(snapshot.steps.size(), std::size_t{6});
  for (const attn::trace::RouteStep& step : snapshot.steps) {
    const bool first = step.route == 0;
    QCOMPARE(step.calls, qint64{first ? (step.step == 1 ? 3 : 2) : 1});
    QCOMPARE(step.computed_calls, qint64{first ? 2 : 0});
    QVERIFY(std::abs(step.seconds - (first ? 0.002 : 0.0)) < 1e-12);
  }
  table.clear_counts();
  QVERIFY(table.snapshot(0).steps.empty());
}

void RouteTableTest::outputs_that_are_not_finite_are_counted_from_the_first() {
  RouteTable table;
  for (std::int32_t step = 0; step < 5; ++step) {
    RouteEvent event = event_of("sage", 4608, step);
    if (step >= 2) event.nan_count = 10;
    if (step == 4) event.inf_count = 3;
    table.add(event);
  }
  const RouteRow row = table.snapshot(0).routes.at(0);
  QCOMPARE(row.nan_count, qint64{30});
  QCOMPARE(row.inf_count, qint64{3});
  QCOMPARE(row.first_bad_step, 2);
}

void RouteTableTest::rows_come_busiest_first_and_then_by_first_sighting() {
  RouteTable table;
  for (const char* name : {"a", "b", "c", "d", "c", "b"}) table.add(event_of(name, 64));
  std::string order;
  for (const RouteRow& row : table.by_calls()) order += row.id.backend;
  QCOMPARE(q(order), q("bcad"));
  order.clear();
  for (const RouteRow& row : table.snapshot(0).routes) order += row.id.backend;
  QCOMPARE(q(order), q("abcd"));
}

void RouteTableTest::clearing_counts_keeps_what_was_seen() {
  RouteTable table;
  QVERIFY(table.add(event_of("a", 64)));
  QVERIFY(table.add(event_of("b", 64)));
  table.clear_counts();
  QCOMPARE(table.calls(), qint64{0});
  QVERIFY(table.by_calls().empty());
  QVERIFY(table.snapshot(0).shares.empty());
  QCOMPARE(table.seen(), std::size_t{2});
  QVERIFY(!table.add(event_of("b", 64, 5)));
  QVERIFY(!table.add(event_of("a", 64)));
  QCOMPARE(q(table.by_calls().at(0).id.backend), q("b"));
  QCOMPARE(table.by_calls().at(0).first_step, 5);
  QCOMPARE(table.by_calls().at(0).calls, qint64{1});
  table.reset();
  QCOMPARE(table.seen(), std::size_t{0});
  QVERIFY(table.add(event_of("b", 64)));
}

void RouteTableTest::shares_split_calls_and_time_by_role_step_and_backend() {
  RouteTable table;
  for (std::int32_t step = 0; step < 3; ++step) {
    for (int call = 0; call <= step; ++call) {
      for (const std::int32_t tokens : {512, 1024}) {
        RouteEvent event = event_of("sdnq", tokens, step);
        ran(event, 1000);
        table.add(event);
      }
    }
    RouteEvent sparse = event_of("sdnq", 512, step);
    sparse.sparse = true;
    table.add(sparse);
  }
  RouteEvent te = event_of("sdpa", 77, 0);
  te.role = Role::te;
  table.add(te);
  const TraceSnapshot snapshot = table.snapshot(0);
  QCOMPARE(snapshot.shares.size(), std::size_t{7});
  std::int64_t calls = 0;
  for (const auto& share : snapshot.shares) {
    calls += share.calls;
    if (share.backend == "sdnq") {
      QCOMPARE(share.calls, qint64{2} * (share.step + 1));
      QVERIFY(std::abs(share.seconds - 1e-6 * static_cast<double>(share.calls)) < 1e-12);
    } else {
      QCOMPARE(share.calls, qint64{1});
      QCOMPARE(share.seconds, 0.0);
    }
  }
  QCOMPARE(calls, snapshot.calls);
  QVERIFY(snapshot.shares.back().role == Role::te);
}

void RouteTableTest::revisions_grow_with_every_change_and_with_drops() {
  RouteTable table;
  std::uint64_t last = table.snapshot(0).revision;
  const auto grew = [&last](std::uint64_t now) { return std::exchange(last, now) < now; };
  QCOMPARE(table.snapshot(0).revision, last);
  table.add(event_of("a", 1));
  QVERIFY(grew(table.snapshot(0).revision));
  table.add(event_of("a", 1));
  QVERIFY(grew(table.snapshot(0).revision));
  QVERIFY(grew(table.snapshot(3).revision));
  table.clear_counts();
  QVERIFY(grew(table.snapshot(3).revision));
  table.reset();
  QVERIFY(grew(table.snapshot(3).revision));
}

void RouteTableTest::a_flood_allocates_nothing_once_its_routes_are_known() {
  RouteTable table;
  const char* const names[] = {"sdnq", "sage", "flash", "flex", "dynamic", "sdpa"};
  std::vector<RouteEvent> events;
  for (std::int32_t i = 0; i < 120; ++i) events.push_back(event_of(names[i % 6], 64 * (i / 6 + 1), i % 4));
  for (const RouteEvent& event : events) table.add(event);
  const std::int64_t before = allocations;
  for (int round = 0; round < 500; ++round) {
    for (const RouteEvent& event : events) table.add(event);
  }
  QCOMPARE(allocations.load(), before);
  QCOMPARE(table.calls(), qint64{501 * 120});
  QCOMPARE(table.seen(), std::size_t{120});
}

void RouteTableTest::names_are_compared_by_text_and_kept_as_copies() {
  RouteTable table;
  {
    const std::string first = "flash";
    QVERIFY(table.add(event_of(first, 64)));
    std::string reused(first);  // other address, same text
    QVERIFY(!table.add(event_of(reused, 64)));
    reused = "flexx";  // same address, other text
    QVERIFY(table.add(event_of(reused, 64)));
  }
  QCOMPARE(q(table.by_calls().at(0).id.backend), q("flash"));
  QCOMPARE(q(table.by_calls().at(1).executed), q("flexx"));
}

QTEST_GUILESS_MAIN(RouteTableTest)
#include "route_table_test.moc"
