// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/event/event_ring.h"

#include <algorithm>
#include <bit>

namespace attn::trace {

EventRing::EventRing(std::size_t capacity)
    : events_(std::bit_ceil(std::max<std::size_t>(capacity, 1))), mask_(events_.size() - 1) {}

std::size_t EventRing::pop(std::span<RouteEvent> out) noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (cached_head_ - tail < out.size()) cached_head_ = head_.load(std::memory_order_acquire);
  const std::size_t count = std::min<std::size_t>(out.size(), cached_head_ - tail);
  for (std::size_t i = 0; i < count; ++i) out[i] = events_[(tail + i) & mask_];
  tail_.store(tail + count, std::memory_order_release);
  return count;
}

}  // namespace attn::trace
