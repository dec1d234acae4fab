// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/dynamic/slices.h"

#include <algorithm>

namespace attn {
namespace {

constexpr int kBatch = 0;
constexpr int kHeads = 1;
constexpr int kTokens = 2;

std::int64_t& shape_at(TensorView& view, int dim) noexcept { return view.shape[static_cast<std::size_t>(dim)]; }
std::int64_t& step_at(TensorView& view, int dim) noexcept { return view.stride[static_cast<std::size_t>(dim)]; }

void move_by(TensorView& view, std::int64_t elements) noexcept {
  if (view.has_data()) {
    view.data = static_cast<std::byte*>(view.data) + elements * static_cast<std::int64_t>(size_of(view.dtype));
  }
}

/// Element `outer` of the fifth dim from the right, as rank 4. A dim of size 1 repeats.
TensorView rank_four(const TensorView& view, std::int64_t outer) noexcept {
  if (view.rank == 0) return view;
  TensorView four = view;
  four.rank = 4;
  for (int i = -4; i < 0; ++i) {
    shape_at(four, 4 + i) = view.size(i);
    step_at(four, 4 + i) = view.step(i);
  }
  if (view.size(-5) > 1) move_by(four, outer * view.step(-5));
  return four;
}

/// Elements first..first+count of a dim.
void narrow(TensorView& view, int dim, std::int64_t first, std::int64_t count) noexcept {
  if (view.rank == 0) return;
  move_by(view, first * step_at(view, dim));
  shape_at(view, dim) = count;
}

/// narrow() for a mask, whose dims of size 1 hold for everything.
void narrow_mask(std::optional<TensorView>& mask, int dim, std::int64_t first, std::int64_t count) noexcept {
  if (mask && shape_at(*mask, dim) != 1) narrow(*mask, dim, first, count);
}

/// Splits heads into (groups, heads of a group) and lets them stand in the places of batch and heads.
void fold_groups(TensorView& view, std::int64_t group) noexcept {
  if (view.rank == 0) return;
  const std::int64_t heads = shape_at(view, kHeads);
  shape_at(view, kBatch) = heads / group;
  step_at(view, kBatch) = step_at(view, kHeads) * group;
  shape_at(view, kHeads) = group;
}

/// One key/value head per group: the batch place walks over them, the heads place repeats.
void fold_kv_heads(TensorView& view, std::int64_t group) noexcept {
  shape_at(view, kBatch) = shape_at(view, kHeads);
  step_at(view, kBatch) = step_at(view, kHeads);
  shape_at(view, kHeads) = group;
  step_at(view, kHeads) = 0;
}

}  // namespace

SliceWalk::SliceWalk(const AttentionCall& call, const SlicePlan& plan) noexcept
    : source_(call),
      batch_size_(std::max<std::int64_t>(plan.batch_size, 1)),
      head_size_(std::max<std::int64_t>(plan.head_size, 1)),
      query_size_(std::max<std::int64_t>(plan.query_size, 1)),
      group_(call.kv_heads() == 0 ? 1 : call.heads() / call.kv_heads()) {
  if (group_ > 1) batch_size_ = 1;  // the batch place is needed for the groups
}

bool SliceWalk::next() noexcept {
  const std::int64_t outer_count = source_.query.size(-5);
  const std::int64_t batches = source_.query.size(-4);
  if (!started_) {
    started_ = true;
    if (outer_count * batches * source_.heads() * source_.query_tokens() == 0) return false;
    take_outer();
    return true;
  }
  if ((query_ += query_size_) < source_.query_tokens()) {
    take_query();
  } else if ((head_ = head_end()) < source_.heads()) {
    take_heads();
  } else if ((batch_ += batch_size_) < batches) {
    head_ = 0;
    take_heads();
  } else if (++outer_at_ < outer_count) {
    take_outer();
  } else {
    return false;
  }
  return true;
}

/// Slices of whole groups stay whole; others end where a group ends.
std::int64_t SliceWalk::head_end() const noexcept {
  const std::int64_t slice_end = std::min((head_ / head_size_ + 1) * head_size_, source_.heads());
  if (head_ % group_ == 0 && slice_end % group_ == 0) return slice_end;
  return std::min(slice_end, (head_ / group_ + 1) * group_);
}

void SliceWalk::take_outer() noexcept {
  outer_ = source_;
  for (TensorView* view : {&outer_.query, &outer_.key, &outer_.value, &outer_.output})
    *view = rank_four(*view, outer_at_);
  if (outer_.attn_mask) outer_.attn_mask = rank_four(*outer_.attn_mask, outer_at_);
  outer_.scale = source_.effective_scale();
  batch_ = 0;
  head_ = 0;
  take_heads();
}

void SliceWalk::take_heads() noexcept {
  heads_ = outer_;
  heads_.enable_gqa = false;
  const std::int64_t batches = std::min(batch_size_, source_.query.size(-4) - batch_);
  for (TensorView* view : {&heads_.query, &heads_.key, &heads_.value, &heads_.output})
    narrow(*view, kBatch, batch_, batches);
  narrow_mask(heads_.attn_mask, kBatch, batch_, batches);

  const std::int64_t count = head_end() - head_;
  narrow(heads_.query, kHeads, head_, count);
  narrow(heads_.output, kHeads, head_, count);
  narrow_mask(heads_.attn_mask, kHeads, head_, count);
  const std::int64_t kv_count = (count + group_ - 1) / group_;
  for (TensorView* view : {&heads_.key, &heads_.value}) narrow(*view, kHeads, head_ / group_, kv_count);
  if (group_ > 1) {
    const std::int64_t together = count / kv_count;
    fold_groups(heads_.query, together);
    fold_groups(heads_.output, together);
    fold_kv_heads(heads_.key, together);
    fold_kv_heads(heads_.value, together);
    if (heads_.attn_mask && shape_at(*heads_.attn_mask, kHeads) != 1) fold_groups(*heads_.attn_mask, together);
  }
  query_ = 0;
  take_query();
}

void SliceWalk::take_query() noexcept {
  slice_ = heads_;
  const std::int64_t count = std::min(query_size_, source_.query_tokens() - query_);
  const bool whole = count == source_.query_tokens();
  narrow(slice_.query, kTokens, query_, count);
  narrow(slice_.output, kTokens, query_, count);
  narrow_mask(slice_.attn_mask, kTokens, query_, count);
  needs_diagonal_ = source_.is_causal && !whole && (query_ > 0 || slice_.attn_mask);
  if (!source_.is_causal || whole) return;
  const std::int64_t visible = std::min(source_.key_tokens(), query_ + count);
  narrow(slice_.key, kTokens, 0, visible);
  narrow(slice_.value, kTokens, 0, visible);
  narrow_mask(slice_.attn_mask, 3, 0, visible);
  if (needs_diagonal_) slice_.is_causal = false;
}

}  // namespace attn
