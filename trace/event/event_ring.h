// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/event/route_event.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::trace {

/// Lock-free ring for one producer (the router's thread) and one consumer (the collector). A full ring drops the
/// new event and counts the drop: the producer never waits. Memory: capacity * sizeof(RouteEvent), fixed.
class EventRing {
 public:
  static constexpr std::size_t kDefaultCapacity = std::size_t{1} << 15;

  /// `capacity` is rounded up to a power of two.
  explicit EventRing(std::size_t capacity = kDefaultCapacity);
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  /// Producer only. False: full, counted in dropped(). About 5 ns while the ring's line is in the cache.
  bool push(const RouteEvent& event) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - cached_tail_ > mask_) {
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (head - cached_tail_ > mask_) {
        // Only the producer writes this, so a plain add does; the atomic is for those who read it.
        dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    events_[head & mask_] = event;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  /// Consumer only. Moves up to out.size() events, oldest first; returns how many.
  std::size_t pop(std::span<RouteEvent> out) noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return events_.size(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<RouteEvent> events_;
  std::uint64_t mask_;
  // Producer and consumer each have a cache line of their own; neither reads the other's on the clean path.
  alignas(64) std::atomic<std::uint64_t> head_{0};  ///< next to write
  std::uint64_t cached_tail_ = 0;                   ///< producer's copy
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};  ///< next to read
  std::uint64_t cached_head_ = 0;                   ///< consumer's copy
};

}  // namespace attn::trace
