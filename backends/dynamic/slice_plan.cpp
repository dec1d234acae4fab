// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/dynamic/slice_plan.h"

#include <algorithm>

namespace attn {
namespace {

constexpr double kGibibyte = 1073741824.0;

/// The largest divisor of `count` whose size times `unit` is within `limit`; 1 if none.
std::int64_t largest_part(std::int64_t count, double unit, double limit) noexcept {
  std::int64_t best = 1;
  for (std::int64_t small = 1; small * small <= count; ++small) {
    if (count % small != 0) continue;
    for (const std::int64_t part : {small, count / small}) {
      if (static_cast<double>(part) * unit <= limit) best = std::max(best, part);
    }
  }
  return best;
}

double scores(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t bytes) noexcept {
  return static_cast<double>(a * b * c * bytes) / kGibibyte;
}

}  // namespace

SlicePlan plan_slices(const SliceQuestion& q) noexcept {
  SlicePlan plan{false, false, false, q.batch, q.heads, q.query_tokens};
  const double per_batch = scores(q.heads, q.query_tokens, q.key_tokens, q.element_bytes);
  if (static_cast<double>(q.batch) * per_batch < q.trigger_rate) return plan;
  plan.split_batch = true;
  plan.batch_size = largest_part(q.batch, per_batch, q.slice_rate);
  if (static_cast<double>(plan.batch_size) * per_batch <= q.slice_rate) return plan;
  const double per_head = scores(plan.batch_size, q.query_tokens, q.key_tokens, q.element_bytes);
  plan.split_heads = true;
  plan.head_size = largest_part(q.heads, per_head, q.slice_rate);
  if (static_cast<double>(plan.head_size) * per_head <= q.slice_rate) return plan;
  const double per_query = scores(plan.batch_size, plan.head_size, q.key_tokens, q.element_bytes);
  plan.split_query = true;
  plan.query_size = largest_part(q.query_tokens, per_query, q.slice_rate);
  return plan;
}

SlicePlan SlicePlanCache::plan(const SliceQuestion& question) const noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return plan_slices(question);  // computing it costs less than waiting
  for (const Entry& entry : entries_) {
    if (entry.question == question) return entry.plan;
  }
  Entry& entry = entries_[next_++ % entries_.size()];
  entry = {question, plan_slices(question)};
  return entry.plan;
}

}  // namespace attn
