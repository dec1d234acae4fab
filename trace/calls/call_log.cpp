// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/calls/call_log.h"

#include <algorithm>

namespace attn::trace {
namespace {

std::uint64_t two(std::int32_t low, std::int32_t high) noexcept {
  return static_cast<std::uint32_t>(low) | (static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32);
}

/// Small numbers side by side, a byte each.
template <class... Small>
std::uint64_t bytes(Small... small) noexcept {
  std::uint64_t word = 0;
  int shift = 0;
  ((word |= static_cast<std::uint64_t>(small) << shift, shift += 8), ...);
  return word;
}

}  // namespace

std::size_t CallLog::KeyHash::operator()(const KindKey& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15U + (hash >> 29);
  return hash ^ (hash >> 32);
}

// As in the route table: a run has a handful of names, and their text outlives their address.
std::uint64_t CallLog::name_number(std::string_view name) {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at != names_.end()) return static_cast<std::uint64_t>(at - names_.begin());
  names_.emplace_back(name);
  return names_.size() - 1;
}

CallLog::KindKey CallLog::key_of(const RouteEvent& event) {
  const auto& q = event.query.size;
  const auto& k = event.key.size;
  const auto& v = event.value.size;
  const int flags = (event.causal ? 1 : 0) | (event.gqa ? 2 : 0) | (event.sparse ? 4 : 0) | (event.computed ? 8 : 0) |
                    (event.bypassed ? 16 : 0);
  return {two(q[0], q[1]),
          two(q[2], q[3]),
          two(q[4], k[0]),
          two(k[1], k[2]),
          two(k[3], k[4]),
          two(v[0], v[1]),
          two(v[2], v[3]),
          two(v[4], 0) | (name_number(event.stage_reason) << 32),
          name_number(event.requested) | (name_number(event.selected) << 32),
          name_number(event.executed) | (name_number(event.variant) << 32),
          bytes(event.query.rank, event.key.rank, event.value.rank, event.role, event.query_dtype, event.key_dtype,
                event.value_dtype, event.mask),
          bytes(event.query_layout, event.key_layout, event.value_layout, event.mask_pattern, flags)};
}

std::size_t CallLog::kind_of(const RouteEvent& event) {
  const KindKey key = key_of(event);
  if (const auto at = index_.find(key); at != index_.end()) return at->second;
  if (kinds_.size() == kMostKinds) return kMostKinds;
  index_.emplace(key, kinds_.size());
  kinds_.push_back(
      std::make_shared<const CallKind>(CallKind{route_of(event), std::string(event.stage_reason), event.computed}));
  shared_kinds_.reset();
  return kinds_.size() - 1;
}

void CallLog::add(const RouteEvent& event) {
  if (most_ == 0) return;
  if (size_ == most_) {
    ++left_out_;
    return;
  }
  const std::size_t kind = kind_of(event);
  if (kind == kMostKinds) {
    ++left_out_;
    return;
  }
  if (size_ % CallView::kChunk == 0) chunks_.push_back(std::make_shared<CallView::Chunk>());
  CallRecord& call = (*chunks_.back())[size_ % CallView::kChunk];
  if (event.end_ns != 0) {
    if (origin_ns_ == 0) origin_ns_ = event.begin_ns;
    call.begin_ns = std::max<std::int64_t>(0, event.begin_ns - origin_ns_);
    call.seconds = static_cast<float>(static_cast<double>(event.end_ns - event.begin_ns) * 1e-9);
  } else {
    all_timed_ = false;
  }
  call.kind = static_cast<std::uint32_t>(kind);
  call.step = event.step;
  call.density = event.density;
  call.nan_count = event.nan_count;
  call.inf_count = event.inf_count;
  ++size_;
}

void CallLog::reset() {
  // Views of the last run keep its chunks; these are another run's.
  chunks_.clear();
  names_.clear();
  index_.clear();
  kinds_.clear();
  shared_kinds_.reset();
  size_ = 0;
  left_out_ = 0;
  origin_ns_ = 0;
  all_timed_ = true;
  ++run_;
}

CallView CallLog::view() const {
  if (!shared_kinds_) shared_kinds_ = std::make_shared<const CallView::Kinds>(kinds_);
  CallView view;
  view.chunks_.assign(chunks_.begin(), chunks_.end());
  view.kinds_ = shared_kinds_;
  view.size_ = size_;
  view.left_out_ = left_out_;
  view.run_ = run_;
  view.all_timed_ = all_timed_;
  return view;
}

}  // namespace attn::trace
