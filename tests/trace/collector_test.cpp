// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/collector.h"

#include "support/oracle.h"
#include "trace/text/route_text.h"

#include <QtTest>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using attn::test::q;
using attn::trace::Collector;
using attn::trace::EventRing;
using attn::trace::RouteEvent;
using attn::trace::TraceSnapshot;

namespace {

RouteEvent event_of(std::string_view backend, std::int32_t tokens, std::int32_t step = 0) {
  RouteEvent event;
  event.requested = event.selected = event.executed = backend;
  event.query = event.key = event.value = {{1, 8, tokens, 64, 0}, 4};
  event.role = attn::Role::transformer;
  event.step = step;
  return event;
}

/// A sink that keeps the lines; the collector writes one at a time.
struct Lines {
  std::mutex mutex;
  std::vector<std::string> texts;

  attn::LogSink sink() {
    return [this](const attn::LogLine& line) {
      const std::lock_guard lock(mutex);
      if (line.level != attn::LogLevel::debug) qFatal("routes are logged at debug level");
      texts.push_back(line.text);
    };
  }
  std::vector<std::string> taken() {
    const std::lock_guard lock(mutex);
    return std::exchange(texts, {});
  }
};

void push_all(EventRing& ring, const RouteEvent& event, int times) {
  for (int i = 0; i < times; ++i) {
    while (!ring.push(event)) std::this_thread::yield();
  }
}

}  // namespace

class CollectorTest : public QObject {
  Q_OBJECT

 private slots:
  void a_border_counts_everything_pushed_before_it();
  void generations_of_a_producer_thread_never_mix();
  void a_rebuild_makes_the_log_show_routes_again();
  void the_window_keeps_a_finished_run_until_the_next_begins();
  void drops_are_told_and_belong_to_their_run();
  void nothing_is_logged_unless_asked_for();
  void a_change_is_told_and_at_most_sixty_times_a_second();
  void closing_takes_what_is_left();
  void the_observer_feeds_the_ring();
};

void CollectorTest::a_border_counts_everything_pushed_before_it() {
  EventRing ring(1024);
  Lines lines;
  Collector collector(ring, {true, lines.sink(), {}});
  collector.begin_run();
  push_all(ring, event_of("sage", 128, 2), 5);
  push_all(ring, event_of("sdpa", 77, 2), 7);
  collector.end_generation();
  const std::vector<std::string> wanted{
      "Attention route: backend=sage role=transformer step=2 q=[1, 8, 128, 64] k=[1, 8, 128, 64] dtype=torch.bfloat16 "
      "mask=False contiguous=True",
      "Attention route: backend=sdpa role=transformer step=2 q=[1, 8, 77, 64] k=[1, 8, 77, 64] dtype=torch.bfloat16 "
      "mask=False contiguous=True",
      "Attention routes: backend=sdpa role=transformer q=[1, 8, 77, 64] k=[1, 8, 77, 64] dtype=torch.bfloat16 "
      "mask=False contiguous=True calls=7",
      "Attention routes: backend=sage role=transformer q=[1, 8, 128, 64] k=[1, 8, 128, 64] dtype=torch.bfloat16 "
      "mask=False contiguous=True calls=5"};
  const std::vector<std::string> got = lines.taken();
  QCOMPARE(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) QCOMPARE(q(got[i]), q(wanted[i]));
  collector.end_generation();
  QVERIFY(lines.taken().empty());
}

void CollectorTest::generations_of_a_producer_thread_never_mix() {
  constexpr int kGenerations = 40;
  EventRing ring(256);  // wraps many times in each generation, with the collector's own drains in between
  Lines lines;
  Collector collector(ring, {true, lines.sink(), {}});
  std::vector<std::int64_t> window_calls;
  std::thread job([&] {
    for (int generation = 1; generation <= kGenerations; ++generation) {
      collector.begin_run();
      push_all(ring, event_of("sdnq", 64), generation * 37);
      push_all(ring, event_of("sdpa", 64), generation);
      collector.end_generation();
      window_calls.push_back(collector.snapshot().calls);
    }
  });
  job.join();
  std::vector<std::int64_t> sdnq;
  std::vector<std::int64_t> sdpa;
  int shown = 0;
  for (const std::string& line : lines.taken()) {
    const auto route = attn::trace::parse_route(line);
    QVERIFY2(route.has_value(), line.c_str());
    if (route->step) {
      ++shown;
    } else {
      (route->id.backend == "sdnq" ? sdnq : sdpa).push_back(route->calls.value());
    }
  }
  QCOMPARE(shown, 2);
  QCOMPARE(sdnq.size(), std::size_t{kGenerations});
  QCOMPARE(sdpa.size(), std::size_t{kGenerations});
  for (int i = 0; i < kGenerations; ++i) {
    const auto at = static_cast<std::size_t>(i);
    QCOMPARE(sdnq[at], qint64{(i + 1) * 37});
    QCOMPARE(sdpa[at], qint64{i + 1});
    QCOMPARE(window_calls[at], qint64{(i + 1) * 38});
  }
}

void CollectorTest::a_rebuild_makes_the_log_show_routes_again() {
  EventRing ring;
  Lines lines;
  Collector collector(ring, {true, lines.sink(), {}});
  push_all(ring, event_of("flex", 64), 3);
  collector.end_generation();
  QCOMPARE(lines.taken().size(), std::size_t{2});
  push_all(ring, event_of("flex", 64), 3);
  collector.end_generation();
  QCOMPARE(lines.taken().size(), std::size_t{1});
  push_all(ring, event_of("flex", 64), 3);
  collector.reset_routes();  // what came before it is counted before, and then forgotten
  push_all(ring, event_of("flex", 64), 2);
  collector.end_generation();
  const std::vector<std::string> after = lines.taken();
  QCOMPARE(after.size(), std::size_t{2});
  QVERIFY(after[0].starts_with("Attention route: "));
  QVERIFY(after[1].ends_with("calls=2"));
}

void CollectorTest::the_window_keeps_a_finished_run_until_the_next_begins() {
  EventRing ring;
  Collector collector(ring, {});
  collector.begin_run();
  push_all(ring, event_of("flash", 64, 3), 4);
  collector.end_generation();
  collector.reset_routes();
  TraceSnapshot snapshot = collector.snapshot();
  QCOMPARE(snapshot.calls, qint64{4});
  QCOMPARE(snapshot.routes.size(), std::size_t{1});
  QCOMPARE(snapshot.shares.at(0).step, 3);
  const std::uint64_t revision = snapshot.revision;
  collector.begin_run();
  snapshot = collector.snapshot();
  QCOMPARE(snapshot.calls, qint64{0});
  QVERIFY(snapshot.routes.empty() && snapshot.shares.empty());
  QVERIFY(snapshot.revision > revision);
}

void CollectorTest::drops_are_told_and_belong_to_their_run() {
  EventRing ring(4);
  std::uint64_t first_drops = 0;
  {
    for (int i = 0; i < 10; ++i) ring.push(event_of("old", 64));
    first_drops = ring.dropped();
    QCOMPARE(first_drops, std::uint64_t{6});
  }
  Collector collector(ring, {});
  collector.begin_run();
  QCOMPARE(collector.snapshot().dropped, std::uint64_t{0});
  int pushed = 0;
  while (ring.dropped() == first_drops) {
    pushed += ring.push(event_of("sdnq", 64)) ? 1 : 0;
  }
  collector.end_generation();
  const TraceSnapshot snapshot = collector.snapshot();
  QCOMPARE(snapshot.dropped, ring.dropped() - first_drops);
  QCOMPARE(snapshot.calls, qint64{pushed});
  collector.begin_run();
  QCOMPARE(collector.snapshot().dropped, std::uint64_t{0});
  QVERIFY(collector.snapshot().revision > snapshot.revision);
}

void CollectorTest::nothing_is_logged_unless_asked_for() {
  EventRing ring;
  Lines lines;
  Collector collector(ring, {false, lines.sink(), {}});
  push_all(ring, event_of("flash", 64), 4);
  collector.end_generation();
  QVERIFY(lines.taken().empty());
  QCOMPARE(collector.snapshot().calls, qint64{4});
}

void CollectorTest::a_change_is_told_and_at_most_sixty_times_a_second() {
  using Clock = std::chrono::steady_clock;
  EventRing ring;
  std::mutex mutex;
  std::condition_variable told;
  std::vector<Clock::time_point> times;
  Collector collector(ring, {false, {}, [&] {
                               const std::lock_guard lock(mutex);
                               times.push_back(Clock::now());
                               told.notify_all();
                             }});
  std::unique_lock lock(mutex);
  while (times.size() < 5) {
    ring.push(event_of("flash", 64));
    told.wait_for(lock, std::chrono::milliseconds(1));
  }
  for (std::size_t i = 1; i < times.size(); ++i) QVERIFY(times[i] - times[i - 1] >= std::chrono::milliseconds(16));
}

void CollectorTest::closing_takes_what_is_left() {
  EventRing ring;
  Lines lines;
  {
    Collector collector(ring, {true, lines.sink(), {}});
    push_all(ring, event_of("flash", 64), 1);
  }
  QCOMPARE(lines.taken().size(), std::size_t{1});
  std::vector<RouteEvent> out(4);
  QCOMPARE(ring.pop(out), std::size_t{0});
}

void CollectorTest::the_observer_feeds_the_ring() {
  EventRing ring;
  attn::trace::RingObserver observer(ring);
  Collector collector(ring, {});
  attn::AttentionCall call;
  call.query = call.key = call.value = attn::TensorView::contiguous({1, 24, 4608, 128}, attn::DType::bfloat16);
  attn::RouteObserver& as_router_sees_it = observer;
  as_router_sees_it.observe({call, "sdnq", "sdnq", "sdnq", "int8", nullptr, attn::Role::transformer, 1, false, 0, 0});
  collector.drain();
  const TraceSnapshot snapshot = collector.snapshot();
  QCOMPARE(snapshot.calls, qint64{1});
  QCOMPARE(q(snapshot.routes.at(0).variant), q("int8"));
}

QTEST_GUILESS_MAIN(CollectorTest)
#include "collector_test.moc"
