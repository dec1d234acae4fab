// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/compare/repeat.h"

#include "app/jobs/profile/profile_job.h"
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace attn::app {
namespace {

/// The bits of a float as an integer that grows with the value: negative ones mirrored below zero.
template <class Bits>
std::int64_t ordered(Bits bits) noexcept {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <class Bits>
std::int64_t farthest(const TensorView& a, const TensorView& b) noexcept {
  const auto* left = static_cast<const std::byte*>(a.data);
  const auto* right = static_cast<const std::byte*>(b.data);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    Bits x{};
    Bits y{};
    std::memcpy(&x, left + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
    std::memcpy(&y, right + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
    // Two zeros of different sign are other bits; they count as one step.
    if (x != y) most = std::max({most, std::abs(ordered(x) - ordered(y)), std::int64_t{1}});
  }
  return most;
}

RepeatRow repeat_one(JobScope& scope, const DistinctCall& distinct, const AttentionCall& call, int runs,
                     std::uint64_t seed, const std::stop_token& stop) {
  RepeatRow row;
  row.call = write_call({call, distinct.role, 0, 0, distinct.hidden_keys});
  row.role = distinct.role;
  const RoleScope role(scope.context(), distinct.role);
  const CallTensors tensors = generate(call, seed, distinct.hidden_keys);
  HostBuffer first;
  TensorView before = tensors.call.output;
  for (int run = 0; run < runs && !stop.stop_requested(); ++run) {
    const attn::Route route = scope.attention(tensors.call);
    row.backend = route.executed;
    row.kernel = route.variant;
    row.failure = route.failure;
    if (!row.failure.empty()) return row;
    ++row.runs;
    if (run == 0) {
      first = HostBuffer(tensors.output.size());
      std::memcpy(first.data(), tensors.output.data(), first.size());
      before.data = first.data();
    }
    const bool same = std::memcmp(first.data(), tensors.output.data(), first.size()) == 0;
    row.identical += same ? 1 : 0;
    if (!same) row.max_ulp = std::max(row.max_ulp, ulp_distance(before, tensors.call.output));
  }
  return row;
}

}  // namespace

std::string RepeatRow::verdict() const {
  if (!failure.empty()) return "nobody served: " + failure;
  const std::string count = std::to_string(identical) + "/" + std::to_string(runs);
  return identical == runs ? "bit-identical " + count : "not bit-identical, max " + std::to_string(max_ulp) + " ulp";
}

std::int64_t ulp_distance(const TensorView& a, const TensorView& b) noexcept {
  return size_of(a.dtype) == 2 ? farthest<std::uint16_t>(a, b) : farthest<std::uint32_t>(a, b);
}

Expected<std::vector<RepeatRow>> repeat_calls(const CallSchedule& schedule, Engine& engine, int runs,
                                              std::uint64_t seed, std::stop_token stop) {
  Pipe pipe{schedule.pipeline, {}, {}};
  auto scope = engine.begin_job(pipe, schedule.steps, nullptr, false);
  if (!scope) return fail(scope.error());
  const Target& target = scope->plan().target();
  const std::int64_t available = available_memory();
  std::vector<AttentionCall> calls;
  for (const DistinctCall& distinct : schedule.distinct) {
    calls.push_back(schedule.devices_stated ? distinct.call : placed_on(target, distinct.call));
    const Explanation explanation = engine.explain(calls.back(), distinct.role, 0);
    if (auto fits = check_memory(calls.back(), explanation.memory_bytes, available); !fits) return fail(fits.error());
  }
  std::vector<RepeatRow> rows;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (schedule.distinct[i].times == 0 || stop.stop_requested()) continue;
    rows.push_back(repeat_one(*scope, schedule.distinct[i], calls[i], runs, seed + i, stop));
  }
  return rows;
}

}  // namespace attn::app
