// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/lanes.h"

#include "ui/format/format.h"

#include <algorithm>

namespace attn::ui {

bool Lanes::set_calls(const trace::CallView& calls) {
  const bool another = calls.run() != calls_.run() || calls.size() < calls_.size();
  if (another) {
    lanes_.clear();
    steps_.clear();
    time_end_ = 0.0;
    calls_ = {};
  }
  const std::size_t from = calls_.size();
  calls_ = calls;
  Lane* lane = nullptr;
  for (std::size_t i = from; i < calls.size(); ++i) {
    const trace::CallRecord& call = calls[i];
    const Role role = calls.kind_of(call).route.id.role;
    if (lane == nullptr || lane->role != role) lane = &lane_for(role);
    lane->calls.push_back(static_cast<std::uint32_t>(i));
    if (role == Role::transformer && (steps_.empty() || steps_.back().step != call.step)) {
      steps_.push_back({call.step, i});
    }
    if (call.timed()) time_end_ = std::max(time_end_, end_of_time(call));
  }
  return another;
}

Lanes::Lane& Lanes::lane_for(Role role) {
  const auto at = std::lower_bound(lanes_.begin(), lanes_.end(), role,
                                   [](const Lane& lane, Role asked) { return rank_of(lane.role) < rank_of(asked); });
  if (at != lanes_.end() && at->role == role) return *at;
  return *lanes_.insert(at, Lane{role, {}});
}

int Lanes::lane_of(Role role) const noexcept {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].role == role) return static_cast<int>(i);
  }
  return -1;
}

double Lanes::end_of_time(const trace::CallRecord& call) noexcept {
  return static_cast<double>(call.begin_ns) * 1e-9 + static_cast<double>(call.seconds);
}

double Lanes::begin_of(std::size_t call) const noexcept {
  if (axis_ == TimelineAxis::number) return static_cast<double>(call);
  return calls_[call].timed() ? static_cast<double>(calls_[call].begin_ns) * 1e-9 : 0.0;
}

double Lanes::end_of(std::size_t call) const noexcept {
  if (axis_ == TimelineAxis::number) return static_cast<double>(call) + 1.0;
  return calls_[call].timed() ? end_of_time(calls_[call]) : 0.0;
}

double Lanes::data_end() const noexcept {
  return axis_ == TimelineAxis::number ? static_cast<double>(calls_.size()) : time_end_;
}

std::optional<std::pair<double, double>> Lanes::range_of_step(int step) const noexcept {
  const auto at = std::find_if(steps_.begin(), steps_.end(), [&](const StepBegin& one) { return one.step == step; });
  if (at == steps_.end()) return std::nullopt;
  const double end = at + 1 != steps_.end() ? begin_of((at + 1)->call) : [&] {
    const int lane = lane_of(Role::transformer);
    return end_of(lanes_[static_cast<std::size_t>(lane)].calls.back());
  }();
  return std::pair(begin_of(at->call), end);
}

std::size_t Lanes::first_from(const Lane& lane, double from) const {
  const auto at = std::lower_bound(lane.calls.begin(), lane.calls.end(), from,
                                   [this](std::uint32_t call, double asked) { return begin_of(call) < asked; });
  return static_cast<std::size_t>(at - lane.calls.begin());
}

void Lanes::marks(std::size_t number, const TimeMap& map, std::vector<LaneMark>& out) const {
  out.clear();
  const Lane& lane = lanes_[number];
  const auto timed = [&](std::size_t at) { return axis_ == TimelineAxis::number || calls_[lane.calls[at]].timed(); };
  std::size_t at = first_from(lane, map.begin());
  if (at > 0) --at;  // one that began before may still be seen
  while (at < lane.calls.size()) {
    const double begin = begin_of(lane.calls[at]);
    if (begin >= map.end()) break;
    if (!timed(at)) {
      ++at;
      continue;
    }
    LaneMark mark;
    mark.first = at;
    mark.left = map.x_of(begin);
    mark.right = map.x_of(end_of(lane.calls[at]));
    // The last call of a run is seen too, however short.
    if (mark.right - mark.left < kLeast) mark.left = std::min(mark.left, map.right() - kLeast);
    std::size_t next = at + 1;
    if (mark.right - mark.left < kLeast) {
      next = std::max(next, first_from(lane, begin + kLeast * map.per_pixel()));
      // A long call at the end is seen by itself.
      const auto width = [&](std::size_t place) {
        return (end_of(lane.calls[place]) - begin_of(lane.calls[place])) / map.per_pixel();
      };
      if (next > at + 1 && width(next - 1) >= kLeast) --next;
      mark.right =
          std::max(mark.left + kLeast, std::min(map.x_of(end_of(lane.calls[next - 1])), mark.left + 2 * kLeast));
    }
    mark.count = next - at;
    mark.samples = std::min(mark.count, LaneMark::kSamples);
    for (std::size_t i = 0; i < mark.samples; ++i) {
      mark.kinds[i] = calls_[lane.calls[at + i * mark.count / mark.samples]].kind;
    }
    if (mark.right >= map.left()) out.push_back(mark);
    at = next;
  }
}

std::optional<std::size_t> Lanes::at(std::size_t number, double x, const TimeMap& map) const {
  const Lane& lane = lanes_[number];
  if (lane.calls.empty()) return std::nullopt;
  constexpr double kNear = 4.0;
  const std::size_t next = first_from(lane, map.at(x));
  const auto away = [&](std::size_t place) {
    const double left = map.x_of(begin_of(lane.calls[place]));
    const double right = map.x_of(end_of(lane.calls[place]));
    return x < left ? left - x : std::max(0.0, x - right);
  };
  std::optional<std::size_t> best;
  for (const std::size_t place : {next == 0 ? next : next - 1, next}) {
    if (place >= lane.calls.size() || away(place) > kNear) continue;
    if (axis_ == TimelineAxis::time && !calls_[lane.calls[place]].timed()) continue;
    if (!best || away(place) < away(*best)) best = place;
  }
  return best;
}

std::optional<std::size_t> Lanes::place_of(std::size_t number, std::size_t call) const {
  const auto& calls = lanes_[number].calls;
  const auto at = std::lower_bound(calls.begin(), calls.end(), static_cast<std::uint32_t>(call));
  if (at == calls.end() || *at != call) return std::nullopt;
  return static_cast<std::size_t>(at - calls.begin());
}

}  // namespace attn::ui
