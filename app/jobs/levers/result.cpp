// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/lever_measure.h"
#include "app/jobs/levers/levers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attn::app {
namespace {

/// (largest - smallest) / median.
double width_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  if (middle <= 0.0) return 0.0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / middle;
}

/// The same without the outermost fifth on either side: one hiccup of the machine in five repetitions is none of it.
double trimmed_width_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto out = static_cast<std::ptrdiff_t>(values.size() / 5);
  return width_of({values.begin() + out, values.end() - out});
}

std::vector<double> ratios_of(const LeverMeasure& measure) {
  std::vector<double> ratios;
  const std::size_t pairs = std::min(measure.seconds.size(), measure.baseline_seconds.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    if (measure.baseline_seconds[i] > 0.0) ratios.push_back(measure.seconds[i] / measure.baseline_seconds[i]);
  }
  return ratios;
}

double cosine_of(const LeverRoute& route) { return route.not_finite > 0 ? 0.0 : route.cosine; }

}  // namespace

std::string_view name_of(LeverState state) noexcept {
  switch (state) {
    case LeverState::measured:
      return "measured";
    case LeverState::skipped:
      return "skipped";
    case LeverState::failed:
      return "failed";
  }
  return "failed";
}

double LeverRow::seconds() const { return median_of(measure.seconds); }

double LeverRow::attention_seconds() const { return median_of(measure.attention_seconds); }

double LeverRow::spread() const { return width_of(measure.seconds); }

double LeverRow::relative_time() const {
  return variant.group == LeverGroup::baseline ? 1.0 : median_of(ratios_of(measure));
}

double LeverRow::own_noise() const {
  const std::vector<double> ratios = ratios_of(measure);
  if (variant.group != LeverGroup::baseline) return width_of(ratios);
  return std::max(trimmed_width_of(ratios), std::abs(median_of(ratios) - 1.0));
}

std::vector<LeverRole> LeverRow::roles() const {
  std::vector<LeverRole> all;
  for (const Role role : std::array{Role::te, Role::transformer, Role::vae, Role::none, Role::other}) {
    LeverRole sum{.role = role};
    for (const LeverRoute& route : measure.routes) {
      if (route.role != role) continue;
      sum.calls += route.calls;
      sum.seconds += route.seconds * static_cast<double>(route.calls);
      sum.baseline_seconds += route.baseline_seconds * static_cast<double>(route.calls);
      sum.relative_l1 = std::max(sum.relative_l1, route.relative_l1);
      sum.cosine = std::min(sum.cosine, cosine_of(route));
    }
    if (sum.calls > 0) all.push_back(sum);
  }
  return all;
}

double LeverRow::worst_relative_l1() const {
  double worst = 0.0;
  for (const LeverRoute& route : measure.routes) worst = std::max(worst, route.relative_l1);
  return worst;
}

double LeverRow::worst_cosine() const {
  double worst = 1.0;
  for (const LeverRoute& route : measure.routes) worst = std::min(worst, cosine_of(route));
  return worst;
}

double LeverRow::error() const {
  for (const LeverRoute& route : measure.routes) {
    if (route.not_finite > 0) return std::numeric_limits<double>::infinity();
  }
  return measure.picture ? measure.picture->mean_squared_error : worst_relative_l1();
}

const LeverRow* LeverResult::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [name](const LeverRow& row) { return row.variant.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

double LeverResult::noise(const LeverRow& row) const {
  const LeverRow* exact = baseline();
  return std::max({kLeastNoise, row.own_noise(), exact == nullptr ? 0.0 : exact->own_noise()});
}

std::size_t LeverResult::missing() const {
  return static_cast<std::size_t>(std::count_if(variants.begin(), variants.end(),
                                                [this](const std::string& name) { return find(name) == nullptr; }));
}

std::vector<std::size_t> pareto_front(const LeverResult& result) {
  std::vector<std::size_t> by_time;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (result.rows[i].state == LeverState::measured) by_time.push_back(i);
  }
  const auto key = [&result](std::size_t i) {
    return std::pair(result.rows[i].relative_time(), result.rows[i].error());
  };
  std::stable_sort(by_time.begin(), by_time.end(), [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : by_time) {
    if (front.empty() || result.rows[i].error() < result.rows[front.back()].error()) front.push_back(i);
  }
  return front;
}

}  // namespace attn::app
