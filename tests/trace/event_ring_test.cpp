// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/event/event_ring.h"

#include <QtTest>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

using attn::trace::EventRing;
using attn::trace::RouteEvent;

namespace {

RouteEvent numbered(std::int64_t number) {
  RouteEvent event;
  event.begin_ns = number;
  event.end_ns = -number;
  event.step = static_cast<std::int32_t>(number & 0x7FFFFFFF);
  return event;
}

}  // namespace

class EventRingTest : public QObject {
  Q_OBJECT

 private slots:
  void capacity_is_a_power_of_two();
  void events_come_out_in_order_over_many_wraps();
  void a_full_ring_drops_the_new_event_and_counts_it();
  void pop_takes_no_more_than_there_is_room_for();
  void producer_and_consumer_threads_lose_nothing_but_what_is_counted();
  void an_event_holds_what_a_call_is();
};

void EventRingTest::capacity_is_a_power_of_two() {
  QCOMPARE(EventRing(0).capacity(), std::size_t{1});
  QCOMPARE(EventRing(1).capacity(), std::size_t{1});
  QCOMPARE(EventRing(5).capacity(), std::size_t{8});
  QCOMPARE(EventRing(64).capacity(), std::size_t{64});
  QCOMPARE(EventRing().capacity(), EventRing::kDefaultCapacity);
}

void EventRingTest::events_come_out_in_order_over_many_wraps() {
  EventRing ring(8);
  std::array<RouteEvent, 5> out;
  std::int64_t in = 0;
  std::int64_t expected = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < round % 8 + 1; ++i) QVERIFY(ring.push(numbered(in++)));
    while (const std::size_t count = ring.pop(out)) {
      for (std::size_t i = 0; i < count; ++i) QCOMPARE(out[i].begin_ns, qint64{expected++});
    }
  }
  QCOMPARE(expected, in);
  QCOMPARE(ring.dropped(), std::uint64_t{0});
}

void EventRingTest::a_full_ring_drops_the_new_event_and_counts_it() {
  EventRing ring(4);
  for (std::int64_t i = 0; i < 4; ++i) QVERIFY(ring.push(numbered(i)));
  QVERIFY(!ring.push(numbered(4)));
  QVERIFY(!ring.push(numbered(5)));
  QCOMPARE(ring.dropped(), std::uint64_t{2});
  std::array<RouteEvent, 8> out;
  QCOMPARE(ring.pop(std::span(out).first(1)), std::size_t{1});
  QCOMPARE(out[0].begin_ns, qint64{0});
  QVERIFY(ring.push(numbered(6)));
  QCOMPARE(ring.pop(out), std::size_t{4});
  const std::array<std::int64_t, 4> left{1, 2, 3, 6};
  for (std::size_t i = 0; i < left.size(); ++i) QCOMPARE(qint64{out[i].begin_ns}, qint64{left[i]});
  QCOMPARE(ring.dropped(), std::uint64_t{2});
}

void EventRingTest::pop_takes_no_more_than_there_is_room_for() {
  EventRing ring(8);
  for (std::int64_t i = 0; i < 6; ++i) QVERIFY(ring.push(numbered(i)));
  std::array<RouteEvent, 8> out;
  QCOMPARE(ring.pop({}), std::size_t{0});
  QCOMPARE(ring.pop(std::span(out).first(4)), std::size_t{4});
  QCOMPARE(ring.pop(out), std::size_t{2});
  QCOMPARE(ring.pop(out), std::size_t{0});
}

void EventRingTest::producer_and_consumer_threads_lose_nothing_but_what_is_counted() {
  constexpr std::int64_t kEvents = 300'000;
  EventRing ring(256);
  std::atomic<bool> done{false};
  std::int64_t pushed = 0;
  std::thread producer([&] {
    for (std::int64_t i = 1; i <= kEvents; ++i) pushed += ring.push(numbered(i)) ? 1 : 0;
    done.store(true, std::memory_order_release);
  });
  std::vector<RouteEvent> out(100);
  std::int64_t popped = 0;
  std::int64_t last = 0;
  bool whole = true;
  while (true) {
    const bool was_done = done.load(std::memory_order_acquire);
    const std::size_t count = ring.pop(out);
    for (std::size_t i = 0; i < count; ++i) {
      const RouteEvent& event = out[i];
      whole = whole && event.begin_ns > last && event.end_ns == -event.begin_ns && event.step == event.begin_ns;
      last = event.begin_ns;
    }
    popped += static_cast<std::int64_t>(count);
    if (was_done && count == 0) break;
    if (count == 0) std::this_thread::yield();
  }
  producer.join();
  QVERIFY2(whole, "events arrived torn or out of order");
  QCOMPARE(popped, pushed);
  QCOMPARE(popped + static_cast<std::int64_t>(ring.dropped()), kEvents);
}

void EventRingTest::an_event_holds_what_a_call_is() {
  attn::AttentionCall call;
  call.query = attn::TensorView::contiguous({1, 24, 4608, 128}, attn::DType::float16);
  call.key = attn::TensorView::contiguous({1, 8, 77, 128}, attn::DType::bfloat16);
  call.value = attn::TensorView::contiguous({1, 8, 77, 64}, attn::DType::float32);
  std::swap(call.key.stride[1], call.key.stride[2]);
  call.key.stride[1] = 128;
  call.key.stride[2] = 8 * 128;
  call.attn_mask = attn::TensorView::contiguous({1, 1, 4608, 77}, attn::DType::float16);
  call.is_causal = true;
  call.enable_gqa = true;
  attn::BlockSelection selection;
  selection.budget = 0.5;
  selection.density = 0.25;
  const RouteEvent event =
      attn::trace::make_event({call, "sdnq", "flex", "sdpa", "math", &selection, attn::Role::vae, 7, true, 100, 350});
  QVERIFY(event.requested == "sdnq" && event.selected == "flex" && event.executed == "sdpa" && event.variant == "math");
  QVERIFY((event.query.size == std::array<std::int32_t, 5>{1, 24, 4608, 128, 0}));
  QVERIFY((event.key.size == std::array<std::int32_t, 5>{1, 8, 77, 128, 0}));
  QVERIFY((event.value.size == std::array<std::int32_t, 5>{1, 8, 77, 64, 0}));
  QCOMPARE(int{event.query.rank}, 4);
  QVERIFY(event.query_dtype == attn::DType::float16 && event.key_dtype == attn::DType::bfloat16 &&
          event.value_dtype == attn::DType::float32);
  QVERIFY(event.query_layout == attn::Layout::contiguous && event.key_layout == attn::Layout::transposed);
  QVERIFY(event.mask == attn::trace::MaskKind::additive);
  QVERIFY(event.causal && event.gqa && event.sparse && event.computed);
  QVERIFY(event.role == attn::Role::vae);
  QCOMPARE(event.step, 7);
  QCOMPARE(event.budget, 0.5F);
  QCOMPARE(event.density, 0.25F);
  QCOMPARE(event.end_ns - event.begin_ns, qint64{250});
}

QTEST_GUILESS_MAIN(EventRingTest)
#include "event_ring_test.moc"
