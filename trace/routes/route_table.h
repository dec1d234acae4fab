// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/event/route_event.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn::trace {

/// What makes two calls the same route, in the mirrored systems' sense: backend, role, query shape, key shape,
/// query dtype, mask presence, and whether query and key are both contiguous. The step is not part of it.
struct RouteIdentity {
  std::string backend;  ///< executed, with "+sparse" when a selection was used
  Role role = Role::none;
  EventShape query;
  EventShape key;
  DType dtype = DType::bfloat16;
  bool masked = false;
  bool contiguous = true;
  bool bypassed = false;  ///< served by a dispatcher in front of the router; the mirrored systems do not trace those

  friend bool operator==(const RouteIdentity&, const RouteIdentity&) = default;
};

[[nodiscard]] RouteIdentity identity_of(const RouteEvent& event);

/// Calls that the sparse stage was asked about and left dense for one reason.
struct StageSkip {
  std::string reason;
  std::int64_t calls = 0;

  friend bool operator==(const StageSkip&, const StageSkip&) = default;
};

/// A distinct route with what is known about its calls. Fields that the identity does not hold are those of the
/// first sighting.
struct RouteRow {
  RouteIdentity id;
  std::string requested;
  std::string selected;
  std::string executed;
  std::string variant;
  EventShape value;
  DType key_dtype = DType::bfloat16;
  DType value_dtype = DType::bfloat16;
  Layout query_layout = Layout::contiguous;
  Layout key_layout = Layout::contiguous;
  Layout value_layout = Layout::contiguous;
  MaskKind mask = MaskKind::none;
  MaskPattern mask_pattern = MaskPattern::unknown;
  bool causal = false;
  bool gqa = false;
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int64_t calls = 0;
  std::int64_t computed_calls = 0;     ///< those that ran and were timed
  double seconds = 0.0;                ///< of the computed calls
  double density = 1.0;                ///< of the last sparse call; 1 when dense
  std::vector<StageSkip> stage_skips;  ///< in order of first sighting; empty where the stage was not asked
  std::vector<StageSkip> fall_backs;   ///< why calls were computed here that another kernel was to compute
  std::int64_t nan_count = 0;          ///< of the outputs' elements, over all calls where they were counted
  std::int64_t inf_count = 0;
  std::int32_t first_bad_step = -1;  ///< of the first call whose output held a NaN or an Inf; -1: none did
  std::optional<double> error{};     ///< relative L1 against exact attention, where somebody measured it
};

/// The row of a single call; counts, times and steps are 0.
[[nodiscard]] RouteRow route_of(const RouteEvent& event);

/// Calls and time of one (role, step, backend).
struct StepShare {
  Role role = Role::none;
  std::int32_t step = 0;
  std::string backend;
  std::int64_t calls = 0;
  double seconds = 0.0;
  double budget = 1.0;  ///< of the last sparse call; 1 when dense
};

/// Calls and time of one route in one step.
struct RouteStep {
  std::uint32_t route = 0;  ///< its place in TraceSnapshot::routes
  std::int32_t step = 0;
  std::int64_t calls = 0;
  std::int64_t computed_calls = 0;
  double seconds = 0.0;  ///< of the computed calls
  double density = 1.0;  ///< of the last sparse call; 1 when dense
};

/// A copy of everything that a view needs, cheap to hand from thread to thread.
struct TraceSnapshot {
  std::vector<RouteRow> routes;   ///< in order of first sighting
  std::vector<StepShare> shares;  ///< in order of first sighting
  std::int64_t calls = 0;
  std::uint64_t dropped = 0;
  std::uint64_t revision = 0;      ///< grows with every change; equal revisions are equal snapshots
  std::vector<RouteStep> steps{};  ///< in order of first sighting
};

/// Distinct routes with counts. Not thread safe. Memory grows with distinct routes and steps, never with calls.
class RouteTable {
 public:
  /// Takes one event. True when its route is new since the last reset(): the moment to log it.
  bool add(const RouteEvent& event);
  /// Forgets counts, keeps which routes were seen: the end of a generation.
  void clear_counts();
  /// Forgets everything: a chain rebuild, or a new run in the window.
  void reset();

  /// Rows of this generation by descending calls, equal counts in order of first sighting since clear_counts().
  [[nodiscard]] std::vector<RouteRow> by_calls() const;
  [[nodiscard]] TraceSnapshot snapshot(std::uint64_t dropped) const;
  [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }
  /// Distinct routes since the last reset().
  [[nodiscard]] std::size_t seen() const noexcept { return seen_.size(); }

 private:
  /// The identity as words without padding, so that hashing and comparing it touches no string.
  struct PackedRoute {
    std::array<std::uint64_t, 6> words{};
    friend bool operator==(const PackedRoute&, const PackedRoute&) = default;
  };
  struct PackedHash {
    std::size_t operator()(const PackedRoute& route) const noexcept;
    std::size_t operator()(std::uint64_t share) const noexcept;
  };
  static constexpr std::size_t kNotCounted = ~std::size_t{0};

  [[nodiscard]] std::uint32_t backend_number(std::string_view executed);
  [[nodiscard]] static PackedRoute pack(const RouteEvent& event, std::uint32_t backend) noexcept;
  RouteRow& row_of(const RouteEvent& event, std::size_t& at);
  StepShare& share_of(const RouteEvent& event, std::uint32_t backend);
  RouteStep& step_of(std::size_t route, std::int32_t step);

  std::vector<std::string> backends_;                              ///< a backend's number is its place here
  std::unordered_map<PackedRoute, std::size_t, PackedHash> seen_;  ///< to its row, or kNotCounted this generation
  std::unordered_map<std::uint64_t, std::size_t, PackedHash> share_index_;
  std::vector<RouteRow> rows_;
  std::vector<StepShare> shares_;
  std::vector<RouteStep> steps_;
  std::vector<std::size_t> newest_step_;  ///< of each row, its place in steps_: most calls are of the step before
  std::unordered_map<std::uint64_t, std::size_t, PackedHash> step_index_;
  std::int64_t calls_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace attn::trace
