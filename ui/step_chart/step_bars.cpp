// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/step_chart/step_bars.h"

#include "ui/compare/route_match.h"
#include "ui/format/format.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace attn::ui {

namespace {

using ShareKey = std::tuple<Role, std::int32_t, std::string>;

/// Seconds of every share, as far as they follow from calls that were computed.
std::map<ShareKey, double> scaled_seconds(const trace::TraceSnapshot& run) {
  std::map<ShareKey, double> seconds;
  for (const trace::RouteStep& step : run.steps) {
    const trace::RouteRow& route = run.routes[step.route];
    seconds[{route.id.role, step.step, route.id.backend}] +=
        each_of(route, step).seconds * static_cast<double>(step.calls);
  }
  return seconds;
}

}  // namespace

StepBars::StepBars(const trace::TraceSnapshot& run) {
  // Seconds only when every route has them: a chart that mixes measured and planned steps would lie.
  in_seconds_ = !run.shares.empty() && std::all_of(run.routes.begin(), run.routes.end(),
                                                   [](const trace::RouteRow& row) { return row.computed_calls > 0; });
  scaled_ = in_seconds_ && std::any_of(run.routes.begin(), run.routes.end(),
                                       [](const trace::RouteRow& row) { return row.computed_calls < row.calls; });
  const std::map<ShareKey, double> seconds = scaled_ ? scaled_seconds(run) : std::map<ShareKey, double>();
  for (const trace::StepShare& share : run.shares) {
    const int step = share.role == Role::transformer ? share.step : 0;
    auto bar = std::find_if(bars_.begin(), bars_.end(),
                            [&](const StepBar& b) { return b.role == share.role && b.step == step; });
    if (bar == bars_.end()) bar = bars_.insert(bars_.end(), StepBar{share.role, step, {}, 0.0, 0.0});
    const QString backend = text_of(share.backend);
    if (std::find(backends_.begin(), backends_.end(), backend) == backends_.end()) backends_.push_back(backend);
    const auto known = seconds.find({share.role, share.step, share.backend});
    const double value = !in_seconds_             ? static_cast<double>(share.calls)
                         : known != seconds.end() ? known->second
                                                  : share.seconds;
    auto part = std::find_if(bar->parts.begin(), bar->parts.end(), [&](const auto& p) { return p.backend == backend; });
    if (part == bar->parts.end()) part = bar->parts.insert(bar->parts.end(), {backend, 0.0});
    part->value += value;
    bar->total += value;
    if (share.budget < 1.0) bar->budget = share.budget;
  }
  std::stable_sort(bars_.begin(), bars_.end(), [](const StepBar& a, const StepBar& b) {
    return std::tuple(rank_of(a.role), a.step) < std::tuple(rank_of(b.role), b.step);
  });
  for (const StepBar& bar : bars_) peak_ = std::max(peak_, bar.total);
}

double StepBars::pitch(const QRectF& plot) const {
  constexpr double kWidest = 72.0;
  return std::min(plot.width() / static_cast<double>(std::max<std::size_t>(1, std::max(bars_.size(), expected_))),
                  kWidest);
}

QRectF StepBars::column(std::size_t at, const QRectF& plot) const {
  const double step = pitch(plot);
  const double gap = step > 6.0 ? std::max(2.0, step * 0.18) : (step > 2.0 ? 1.0 : 0.0);
  return {plot.left() + step * static_cast<double>(at) + gap / 2.0, plot.top(), step - gap, plot.height()};
}

int StepBars::find(Role role, int step) const {
  const auto at = std::find_if(bars_.begin(), bars_.end(), [&](const StepBar& bar) {
    return bar.role == role && (role != Role::transformer || bar.step == step);
  });
  return at == bars_.end() ? -1 : static_cast<int>(at - bars_.begin());
}

int StepBars::at(double x, const QRectF& plot) const {
  if (bars_.empty() || x < plot.left()) return -1;
  const auto index = static_cast<int>(std::floor((x - plot.left()) / pitch(plot)));
  return index < static_cast<int>(bars_.size()) ? index : -1;
}

}  // namespace attn::ui
