// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace attn {

/// What the slicing of a call depends on.
struct SliceQuestion {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t query_tokens = 0;
  std::int64_t key_tokens = 0;
  std::int64_t element_bytes = 0;  ///< of the query
  double slice_rate = 0.0;         ///< GiB of scores that one slice may take
  double trigger_rate = 0.0;       ///< GiB of scores from which a call is split at all
  friend bool operator==(const SliceQuestion&, const SliceQuestion&) = default;
};

/// How a call is cut. Keys and values are never split, so the softmax stays exact.
struct SlicePlan {
  bool split_batch = false;
  bool split_heads = false;
  bool split_query = false;
  std::int64_t batch_size = 0;  ///< batches in one slice, and so on; the whole where nothing is split
  std::int64_t head_size = 0;
  std::int64_t query_size = 0;
  [[nodiscard]] bool splits() const noexcept { return split_batch || split_heads || split_query; }
  friend bool operator==(const SlicePlan&, const SlicePlan&) = default;
};

/// With u = heads * Sq * Sk * bytes / 2^30 nothing is split while batch * u is below the trigger. A part is the largest
/// divisor whose share fits the slice rate, at least 1: first of the batch, then of the heads, then of the query.
[[nodiscard]] SlicePlan plan_slices(const SliceQuestion& question) noexcept;

/// Remembers the plans of the questions asked last. Any thread may ask; nobody ever waits.
class SlicePlanCache {
 public:
  [[nodiscard]] SlicePlan plan(const SliceQuestion& question) const noexcept;

 private:
  struct Entry {
    SliceQuestion question;
    SlicePlan plan;
  };
  mutable std::mutex mutex_;
  mutable std::array<Entry, 16> entries_{};
  mutable std::size_t next_ = 0;
};

}  // namespace attn
