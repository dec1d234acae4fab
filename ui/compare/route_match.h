// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/call_key.h"

#include <QString>
#include <QStringList>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace attn::ui {

/// Seconds of some calls, as far as anybody measured them.
struct CallTime {
  double seconds = 0.0;
  bool known = true;    ///< false: one of them has no time
  bool scaled = false;  ///< from representatives
  void add(const CallTime& other);
};

/// Of one call of a route in a step: measured there where every call was, else by what its whole route took.
[[nodiscard]] CallTime each_of(const trace::RouteRow& route, const trace::RouteStep& step);

/// The calls of a run by what they were and by step: what another run is matched with.
class CallIndex {
 public:
  struct Part {
    std::size_t route = 0;  ///< in the run's snapshot
    std::int64_t calls = 0;
    CallTime each;  ///< of one of them
  };
  using Steps = std::map<std::int32_t, std::vector<Part>>;

  CallIndex() = default;
  explicit CallIndex(const trace::TraceSnapshot& run);
  [[nodiscard]] const std::map<CallKey, Steps>& calls() const noexcept { return calls_; }
  /// "sage", "sdnq+sparse" of a route.
  [[nodiscard]] const std::string& backend(std::size_t route) const { return backends_[route]; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Of all calls.
  [[nodiscard]] const CallTime& time() const noexcept { return time_; }

 private:
  std::map<CallKey, Steps> calls_;
  std::vector<std::string> backends_;
  std::int64_t count_ = 0;
  CallTime time_;
};

/// Calls of a route that a route of the baseline had before. In a step both have as many calls where the work is the
/// same; what has no counterpart stands alone.
struct RouteFlow {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t now = kNone;   ///< route of this run; kNone: its calls are gone
  std::size_t then = kNone;  ///< route of the baseline; kNone: its calls are new
  std::int64_t calls_now = 0;
  std::int64_t calls_then = 0;
  CallTime time_now;
  CallTime time_then;
};

/// What a route's calls were in the baseline.
struct RouteThen {
  std::int64_t calls = 0;
  CallTime time;
  QStringList backends;  ///< that served them, in order of first sighting; empty: the baseline has no such call
  bool moved = false;    ///< another backend than now is among them
};

/// A run against a baseline, call by call: matched by what a call was and by its step, the same backend first, so
/// that a route which two backends share is not called moved. Every call of the baseline of a kind that this run has
/// stands against some route of it, so sums over routes are right. Plain data; O(n log n) in routes times steps.
class RouteMatch {
 public:
  RouteMatch() = default;
  RouteMatch(const CallIndex& baseline, const CallIndex& run);

  [[nodiscard]] const std::vector<RouteFlow>& flows() const noexcept { return flows_; }
  /// Of a whole route of the run, or of its calls in one step.
  [[nodiscard]] const RouteThen& then(std::size_t route) const;
  [[nodiscard]] const RouteThen& then(std::size_t route, std::int32_t step) const;

 private:
  using Parts = std::vector<CallIndex::Part>;
  void match_kind(const CallIndex::Steps* before, const CallIndex::Steps* after);
  void match(Parts& before, Parts& after, bool same_backend, std::optional<std::int32_t> step);
  void add(std::size_t now, std::size_t then, std::int64_t calls, const CallTime& now_each, const CallTime& then_each,
           std::optional<std::int32_t> step);
  void note(RouteThen& of, std::size_t now, std::size_t then, std::int64_t calls, const CallTime& time);

  const CallIndex* baseline_ = nullptr;  ///< while it is made
  const CallIndex* run_ = nullptr;
  std::vector<RouteFlow> flows_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> flow_at_;
  std::map<std::size_t, RouteThen> routes_;
  std::map<std::pair<std::size_t, std::int32_t>, RouteThen> steps_;
};

}  // namespace attn::ui
