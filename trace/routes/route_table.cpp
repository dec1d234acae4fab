// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/routes/route_table.h"

#include <algorithm>

namespace attn::trace {
namespace {

constexpr std::string_view kSparseSuffix = "+sparse";

bool masked(const RouteEvent& event) noexcept { return event.mask != MaskKind::none; }

bool contiguous(const RouteEvent& event) noexcept {
  return event.query_layout == Layout::contiguous && event.key_layout == Layout::contiguous;
}

std::uint64_t two(std::int32_t low, std::int32_t high) noexcept {
  return static_cast<std::uint32_t>(low) | (static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32);
}

// The finalizer of splitmix64: every input bit reaches every output bit.
std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
  return word ^ (word >> 31);
}

RouteRow first_sighting(const RouteEvent& event) {
  RouteRow row = route_of(event);
  row.first_step = event.step;
  row.last_step = event.step;
  return row;
}

void count_skip(std::vector<StageSkip>& skips, std::string_view reason) {
  for (StageSkip& skip : skips) {
    if (skip.reason != reason) continue;
    ++skip.calls;
    return;
  }
  skips.push_back({std::string(reason), 1});
}

}  // namespace

RouteRow route_of(const RouteEvent& event) {
  RouteRow row;
  row.id = identity_of(event);
  row.requested = event.requested;
  row.selected = event.selected;
  row.executed = event.executed;
  row.variant = event.variant;
  row.value = event.value;
  row.key_dtype = event.key_dtype;
  row.value_dtype = event.value_dtype;
  row.query_layout = event.query_layout;
  row.key_layout = event.key_layout;
  row.value_layout = event.value_layout;
  row.mask = event.mask;
  row.mask_pattern = event.mask_pattern;
  row.causal = event.causal;
  row.gqa = event.gqa;
  return row;
}

RouteIdentity identity_of(const RouteEvent& event) {
  RouteIdentity id;
  id.backend = event.executed;
  if (event.sparse) id.backend += kSparseSuffix;
  id.role = event.role;
  id.query = event.query;
  id.key = event.key;
  id.dtype = event.query_dtype;
  id.masked = masked(event);
  id.contiguous = contiguous(event);
  id.bypassed = event.bypassed;
  return id;
}

std::size_t RouteTable::PackedHash::operator()(const PackedRoute& route) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : route.words) hash = (hash ^ word) * 0x9E3779B97F4A7C15U + (hash >> 29);
  return mixed(hash);
}

std::size_t RouteTable::PackedHash::operator()(std::uint64_t share) const noexcept { return mixed(share); }

// A chain has a handful of names: comparing them is cheaper than hashing one, and unlike their addresses their
// text stays true when a registry is gone.
std::uint32_t RouteTable::backend_number(std::string_view executed) {
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    if (backends_[i] == executed) return static_cast<std::uint32_t>(i);
  }
  backends_.emplace_back(executed);
  return static_cast<std::uint32_t>(backends_.size() - 1);
}

RouteTable::PackedRoute RouteTable::pack(const RouteEvent& event, std::uint32_t backend) noexcept {
  const auto& q = event.query.size;
  const auto& k = event.key.size;
  const auto flags = static_cast<std::uint64_t>(masked(event)) | (static_cast<std::uint64_t>(contiguous(event)) << 1) |
                     (static_cast<std::uint64_t>(event.sparse) << 2) |
                     (static_cast<std::uint64_t>(event.bypassed) << 3);
  const auto small = static_cast<std::uint64_t>(event.query.rank) | (static_cast<std::uint64_t>(event.key.rank) << 4) |
                     (static_cast<std::uint64_t>(event.role) << 8) |
                     (static_cast<std::uint64_t>(event.query_dtype) << 16) | (flags << 24) |
                     (static_cast<std::uint64_t>(backend) << 32);
  return {{two(q[0], q[1]), two(q[2], q[3]), two(q[4], k[0]), two(k[1], k[2]), two(k[3], k[4]), small}};
}

RouteRow& RouteTable::row_of(const RouteEvent& event, std::size_t& at) {
  if (at == kNotCounted) {
    at = rows_.size();
    rows_.push_back(first_sighting(event));
    newest_step_.push_back(kNotCounted);
  }
  return rows_[at];
}

StepShare& RouteTable::share_of(const RouteEvent& event, std::uint32_t backend) {
  const std::uint64_t key = static_cast<std::uint32_t>(event.step) | (static_cast<std::uint64_t>(event.role) << 32) |
                            (static_cast<std::uint64_t>(event.sparse) << 40) |
                            (static_cast<std::uint64_t>(backend) << 41);
  const auto [at, is_new] = share_index_.try_emplace(key, shares_.size());
  if (is_new) shares_.push_back({event.role, event.step, identity_of(event).backend, 0, 0.0, 1.0});
  return shares_[at->second];
}

RouteStep& RouteTable::step_of(std::size_t route, std::int32_t step) {
  std::size_t& newest = newest_step_[route];
  if (newest != kNotCounted && steps_[newest].step == step) return steps_[newest];
  const auto [at, is_new] = step_index_.try_emplace(two(step, static_cast<std::int32_t>(route)), steps_.size());
  if (is_new) steps_.push_back({static_cast<std::uint32_t>(route), step, 0, 0, 0.0, 1.0});
  newest = at->second;
  return steps_[newest];
}

bool RouteTable::add(const RouteEvent& event) {
  const std::uint32_t backend = backend_number(event.executed);
  const auto [at, is_new] = seen_.try_emplace(pack(event, backend), kNotCounted);
  RouteRow& row = row_of(event, at->second);
  StepShare& share = share_of(event, backend);
  RouteStep& step = step_of(at->second, event.step);
  ++row.calls;
  ++share.calls;
  ++step.calls;
  row.last_step = event.step;
  if (event.sparse) {
    row.density = step.density = static_cast<double>(event.density);
    share.budget = static_cast<double>(event.budget);
  }
  if (event.nan_count != 0 || event.inf_count != 0) {
    row.nan_count += event.nan_count;
    row.inf_count += event.inf_count;
    if (row.first_bad_step < 0) row.first_bad_step = event.step;
  }
  if (!event.stage_reason.empty()) count_skip(row.stage_skips, event.stage_reason);
  if (!event.fell_back.empty()) count_skip(row.fall_backs, event.fell_back);
  if (event.computed && event.end_ns != 0) {
    const double seconds = static_cast<double>(event.end_ns - event.begin_ns) * 1e-9;
    ++row.computed_calls;
    row.seconds += seconds;
    share.seconds += seconds;
    ++step.computed_calls;
    step.seconds += seconds;
  }
  ++calls_;
  ++revision_;
  return is_new;
}

void RouteTable::clear_counts() {
  for (auto& [route, row] : seen_) row = kNotCounted;
  share_index_.clear();
  rows_.clear();
  shares_.clear();
  steps_.clear();
  newest_step_.clear();
  step_index_.clear();
  calls_ = 0;
  ++revision_;
}

void RouteTable::reset() {
  clear_counts();
  seen_.clear();
  backends_.clear();
}

std::vector<RouteRow> RouteTable::by_calls() const {
  std::vector<RouteRow> rows = rows_;
  std::stable_sort(rows.begin(), rows.end(), [](const RouteRow& a, const RouteRow& b) { return a.calls > b.calls; });
  return rows;
}

TraceSnapshot RouteTable::snapshot(std::uint64_t dropped) const {
  // Both parts only grow, so their sum grows whenever either does.
  return {rows_, shares_, calls_, dropped, revision_ + dropped, steps_};
}

}  // namespace attn::trace
