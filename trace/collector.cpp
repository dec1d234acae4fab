// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/collector.h"

#include "trace/text/route_text.h"

#include <algorithm>
#include <span>
#include <utility>

namespace attn::trace {
namespace {

// The default ring holds 4 ms of eight million events a second.
constexpr std::chrono::milliseconds kPoll{4};
/// Where nothing came for a while. A producer never wakes anybody, so this is how late the first route of a job that
/// begins no run can be seen.
constexpr std::chrono::milliseconds kIdlePoll{128};
constexpr std::chrono::microseconds kBetweenChanges{16'667};
constexpr std::size_t kBatch = 512;

}  // namespace

Collector::Collector(EventRing& ring, Options options)
    : ring_(ring),
      options_(std::move(options)),
      batch_(kBatch),
      call_log_(options_.keep_calls),
      dropped_before_run_(ring.dropped()) {
  thread_ = std::thread([this] { loop(); });
}

Collector::~Collector() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  drain();
}

void Collector::loop() {
  Clock::time_point last_told = Clock::now() - kBetweenChanges;
  std::uint64_t told_revision = revision();
  std::uint64_t seen = told_revision;
  std::chrono::milliseconds pause = kPoll;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, pause, [this] { return stop_ || run_began_; });
      if (stop_) return;
      if (std::exchange(run_began_, false)) pause = kPoll;
    }
    drain();
    tell_when_changed(last_told, told_revision);
    const std::uint64_t present = revision();
    const bool quiet = present == seen && (!options_.on_change || present == told_revision);
    pause = quiet ? std::min(2 * pause, kIdlePoll) : kPoll;
    seen = present;
  }
}

void Collector::tell_when_changed(Clock::time_point& last_told, std::uint64_t& told_revision) const {
  if (!options_.on_change) return;
  const Clock::time_point now = Clock::now();
  if (now - last_told < kBetweenChanges) return;
  const std::uint64_t present = revision();
  if (present == told_revision) return;
  told_revision = present;
  last_told = now;
  options_.on_change();
}

void Collector::drain() {
  const std::lock_guard lock(drain_mutex_);
  drain_locked();
}

void Collector::drain_locked() {
  // What is pushed while this runs can wait for the next time, so a flood cannot hold the caller for ever.
  std::size_t left = ring_.capacity();
  while (left > 0) {
    const std::span<RouteEvent> room(batch_.data(), std::min(left, batch_.size()));
    const std::span<const RouteEvent> events = room.first(ring_.pop(room));
    if (events.empty()) return;
    left -= events.size();
    {
      const std::lock_guard lock(mutex_);
      for (const RouteEvent& event : events) {
        run_table_.add(event);
        call_log_.add(event);
      }
    }
    if (!options_.log_routes) continue;
    for (const RouteEvent& event : events) {
      if (log_table_.add(event)) log(route_line(identity_of(event), event.step));
    }
  }
}

void Collector::begin_run() {
  const std::lock_guard draining(drain_mutex_);
  drain_locked();
  const std::lock_guard lock(mutex_);
  run_table_.reset();
  call_log_.reset();
  dropped_before_run_ = ring_.dropped();
  run_began_ = true;
  wake_.notify_all();
}

void Collector::end_generation() {
  const std::lock_guard lock(drain_mutex_);
  drain_locked();
  if (!options_.log_routes) return;
  for (const RouteRow& row : log_table_.by_calls()) log(routes_line(row));
  log_table_.clear_counts();
}

void Collector::reset_routes() {
  const std::lock_guard lock(drain_mutex_);
  drain_locked();
  log_table_.reset();
}

TraceSnapshot Collector::snapshot() const {
  const std::lock_guard lock(mutex_);
  // The revision counts all drops ever, so that it does not fall when a run begins.
  TraceSnapshot snapshot = run_table_.snapshot(ring_.dropped());
  snapshot.dropped -= dropped_before_run_;
  return snapshot;
}

CallView Collector::calls() const {
  const std::lock_guard lock(mutex_);
  return call_log_.view();
}

std::uint64_t Collector::revision() const {
  const std::lock_guard lock(mutex_);
  return run_table_.revision() + ring_.dropped();
}

void Collector::log(std::string text) const {
  if (options_.sink) options_.sink({LogLevel::debug, std::move(text)});
}

}  // namespace attn::trace
