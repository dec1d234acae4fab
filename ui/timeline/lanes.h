// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/timeline/time_map.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::ui {

enum class TimelineAxis : std::uint8_t { time, number };

/// What is drawn of one call, or of several that lie closer together than can be seen.
struct LaneMark {
  static constexpr std::size_t kSamples = 8;

  double left = 0.0;  ///< pixels
  double right = 0.0;
  std::size_t first = 0;  ///< place of the first call in its lane
  std::size_t count = 1;
  std::array<std::uint32_t, kSamples> kinds{};  ///< of calls spread evenly over the mark
  std::size_t samples = 1;
};

/// A step of the denoiser and the call that it begins with.
struct StepBegin {
  int step = 0;
  std::size_t call = 0;
};

/// The calls of a run in a lane for each role. What is drawn costs by the pixel, not by the call: marks() jumps by
/// binary search over what it merges. Plain data, no widget.
class Lanes {
 public:
  /// Marks are at least so wide; calls that would be narrower are merged.
  static constexpr double kLeast = 3.0;

  struct Lane {
    Role role = Role::none;
    std::vector<std::uint32_t> calls;  ///< their numbers, in order
  };

  /// Takes what is new; another run starts over. True when it did.
  bool set_calls(const trace::CallView& calls);
  void set_axis(TimelineAxis axis) noexcept { axis_ = axis; }

  [[nodiscard]] TimelineAxis axis() const noexcept { return axis_; }
  [[nodiscard]] const trace::CallView& calls() const noexcept { return calls_; }
  /// Text encoders, denoiser, VAE, others; those that have calls.
  [[nodiscard]] const std::vector<Lane>& lanes() const noexcept { return lanes_; }
  [[nodiscard]] const std::vector<StepBegin>& steps() const noexcept { return steps_; }
  [[nodiscard]] int lane_of(Role role) const noexcept;

  /// Where a call begins and ends on the axis; on the time axis a call without a time is nowhere: both 0.
  [[nodiscard]] double begin_of(std::size_t call) const noexcept;
  [[nodiscard]] double end_of(std::size_t call) const noexcept;
  [[nodiscard]] double data_end() const noexcept;
  /// Some call has a time.
  [[nodiscard]] bool timed() const noexcept { return time_end_ > 0.0; }
  /// The smallest part of the axis worth a look.
  [[nodiscard]] double least_span() const noexcept { return axis_ == TimelineAxis::number ? 4.0 : 1e-6; }
  /// From where to where a step goes; nullopt when the run has no such step.
  [[nodiscard]] std::optional<std::pair<double, double>> range_of_step(int step) const noexcept;

  void marks(std::size_t lane, const TimeMap& map, std::vector<LaneMark>& out) const;
  /// Place in its lane of the call that is drawn at `x`, or nearest to it within a few pixels.
  [[nodiscard]] std::optional<std::size_t> at(std::size_t lane, double x, const TimeMap& map) const;
  /// Place of a call in a lane; nullopt when it is in another.
  [[nodiscard]] std::optional<std::size_t> place_of(std::size_t lane, std::size_t call) const;

 private:
  /// First place in a lane whose call begins at or after `from`.
  [[nodiscard]] std::size_t first_from(const Lane& lane, double from) const;
  [[nodiscard]] Lane& lane_for(Role role);
  [[nodiscard]] static double end_of_time(const trace::CallRecord& call) noexcept;

  trace::CallView calls_;
  TimelineAxis axis_ = TimelineAxis::number;
  std::vector<Lane> lanes_;
  std::vector<StepBegin> steps_;
  double time_end_ = 0.0;
};

}  // namespace attn::ui
