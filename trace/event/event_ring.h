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

  /// Producer only. False: full, counted in dropped().
  bool push(const RouteEvent& event) noexcept;
  /// Consumer only. Moves up to out.size() events, oldest first; returns how many.
  std::size_t pop(std::span<RouteEvent> out) noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return events_.size(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<RouteEvent> events_;
  std::size_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};  ///< next to write
  std::uint64_t cached_tail_ = 0;                   ///< producer's copy
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};  ///< next to read
  std::uint64_t cached_head_ = 0;                   ///< consumer's copy
};

}  // namespace attn::trace
