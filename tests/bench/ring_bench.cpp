// SPDX-License-Identifier: GPL-3.0-or-later
// What observing costs the router's thread, and what the collector pays for an event.
#include "trace/collector.h"
#include "trace/text/route_text.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

attn::AttentionCall flux_call() {
  attn::AttentionCall call;
  call.query = attn::TensorView::contiguous({1, 24, 4608, 128}, attn::DType::bfloat16);
  call.key = call.query;
  call.value = call.query;
  return call;
}

attn::RouteRecord record_of(const attn::AttentionCall& call) {
  return {call, "sdnq", "sdnq", "sdnq", "int8", nullptr, attn::Role::transformer, 3, true, 1, 2};
}

void make_event(benchmark::State& state) {
  const attn::AttentionCall call = flux_call();
  const attn::RouteRecord record = record_of(call);
  for (auto _ : state) benchmark::DoNotOptimize(attn::trace::make_event(record));
}
BENCHMARK(make_event);

// Fills the ring, then empties it outside the clock: the producer's side alone.
void push(benchmark::State& state) {
  attn::trace::EventRing ring(static_cast<std::size_t>(state.range(0)));
  const attn::AttentionCall call = flux_call();
  const attn::trace::RouteEvent event = attn::trace::make_event(record_of(call));
  std::vector<attn::trace::RouteEvent> out(ring.capacity());
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(ring.capacity()))) {
    for (std::size_t i = 0; i < ring.capacity(); ++i) ring.push(event);
    state.PauseTiming();
    ring.pop(out);
    state.ResumeTiming();
  }
}
BENCHMARK(push)->Arg(256)->Arg(1 << 15);

void observe(benchmark::State& state) {
  attn::trace::EventRing ring(256);
  attn::trace::RingObserver observer(ring);
  attn::RouteObserver* seen_by_router = &observer;
  const attn::AttentionCall call = flux_call();
  const attn::RouteRecord record = record_of(call);
  std::vector<attn::trace::RouteEvent> out(ring.capacity());
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(ring.capacity()))) {
    for (std::size_t i = 0; i < ring.capacity(); ++i) seen_by_router->observe(record);
    state.PauseTiming();
    ring.pop(out);
    state.ResumeTiming();
  }
}
BENCHMARK(observe);

void table_add(benchmark::State& state) {
  const char* const names[] = {"sdnq", "sage", "flash", "triton", "flex", "sdpa"};
  const attn::AttentionCall call = flux_call();
  std::vector<attn::trace::RouteEvent> events;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    attn::trace::RouteEvent event = attn::trace::make_event(record_of(call));
    event.executed = names[i % 6];
    event.query.size[2] += static_cast<std::int32_t>(i / 6);
    event.step = static_cast<std::int32_t>(i % 30);
    events.push_back(event);
  }
  attn::trace::RouteTable table;
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.add(events[at]));
    at = at + 1 == events.size() ? 0 : at + 1;
  }
}
BENCHMARK(table_add)->Arg(1)->Arg(30)->Arg(1000);

void parse_line(benchmark::State& state) {
  const attn::AttentionCall call = flux_call();
  const auto id = attn::trace::identity_of(attn::trace::make_event(record_of(call)));
  const std::string line = "2026-10-02 08:15:47,906 | pine | sd | DEBUG | debug | " + attn::trace::route_line(id, 3);
  for (auto _ : state) benchmark::DoNotOptimize(attn::trace::parse_route(line));
}
BENCHMARK(parse_line);

}  // namespace

BENCHMARK_MAIN();
