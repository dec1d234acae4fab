// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tune/explain_tune.h"

#include "app/jobs/nearest.h"
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attn::app {
namespace {

/// Alternatives that a pick names, at most.
constexpr std::size_t kMostNamed = 2;

std::string rounded(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

/// Enough digits to tell a cosine from its limit: 0.99996, not 1.
std::string cosine_text(double cosine) {
  for (int digits = 4; digits < 8; ++digits) {
    const std::string text = rounded(cosine, digits);
    if (cosine >= 1.0 || text != "1") return text;
  }
  return rounded(cosine, 9);
}

std::string served_as(const LeverRoute& route) {
  std::string text = route.backend + (route.kernel.empty() || route.kernel == route.backend ? "" : " " + route.kernel);
  if (route.budget < 1.0) text += " at " + rounded(100.0 * route.budget, 3) + " %";
  return text;
}

double cosine_of(const LeverRoute& route) { return route.not_finite > 0 ? 0.0 : route.cosine; }

/// Mean seconds of the calls of one kind in a row; 0 for none.
double mean_seconds(const LeverRow& row, const std::string& call) {
  double seconds = 0.0;
  std::int64_t calls = 0;
  for (const LeverRoute& route : row.measure.routes) {
    if (route.call != call) continue;
    seconds += route.seconds * static_cast<double>(route.calls);
    calls += route.calls;
  }
  return calls > 0 ? seconds / static_cast<double>(calls) : 0.0;
}

/// Other ways to serve a call that would be faster than `pick` and break the limit of the cosine.
std::vector<std::string> too_far(const LeverRoute& pick, double standard, const LeverResult& table,
                                 const TuneLimits& limits) {
  std::vector<const LeverRoute*> faster;
  for (const LeverRow& row : table.rows) {
    for (const LeverRoute& route : row.measure.routes) {
      const bool known = std::any_of(faster.begin(), faster.end(),
                                     [&route](const auto* one) { return served_as(*one) == served_as(route); });
      const bool counts = route.call == pick.call && route.seconds < pick.seconds && !known;
      if (counts && cosine_of(route) < limits.min_cosine) faster.push_back(&route);
    }
  }
  std::stable_sort(faster.begin(), faster.end(), [](const auto* a, const auto* b) { return a->seconds < b->seconds; });
  if (faster.size() > kMostNamed) faster.resize(kMostNamed);
  std::vector<std::string> said;
  for (const LeverRoute* route : faster) {
    said.push_back(served_as(*route) + " was " + times_text(standard / std::max(route->seconds, 1e-12)) +
                   " but cosine " + cosine_text(cosine_of(*route)) + " is under " + rounded(limits.min_cosine, 6));
  }
  return said;
}

}  // namespace

std::string times_text(double factor) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.2fx", factor);
  return text.data();
}

std::string percent_of(double share) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %%", share < 0.1 ? 1 : 0, 100.0 * share);
  return text.data();
}

std::vector<std::string> broken_limits(const LeverRow& row, const TuneLimits& limits) {
  std::vector<std::string> broken;
  if (limits.max_seconds && row.seconds() > *limits.max_seconds) {
    broken.push_back("time " + rounded(row.seconds(), 4) + " s is over " + rounded(*limits.max_seconds, 4) + " s");
  }
  if (limits.max_memory && row.measure.memory_bytes > *limits.max_memory) {
    broken.push_back("memory " + bytes_text(row.measure.memory_bytes) + " is over " + bytes_text(*limits.max_memory));
  }
  if (row.worst_cosine() < limits.min_cosine) {
    broken.push_back("cosine " + cosine_text(row.worst_cosine()) + " is under " + rounded(limits.min_cosine, 6));
  }
  // A picture that is missing proves nothing.
  const double psnr = row.measure.picture ? row.measure.picture->psnr : -1.0;
  if (limits.min_psnr && !(psnr >= *limits.min_psnr)) {
    broken.push_back("PSNR " + rounded(psnr, 4) + " dB is under " + rounded(*limits.min_psnr, 4) + " dB");
  }
  return broken;
}

std::string kept_limits(const LeverRow& row, const TuneLimits& limits) {
  std::vector<std::string> kept{"cosine " + cosine_text(row.worst_cosine()) + " at least " +
                                rounded(limits.min_cosine, 6)};
  if (limits.min_psnr && row.measure.picture) {
    const double psnr = row.measure.picture->psnr;
    kept.push_back((std::isinf(psnr) ? "the same picture" : "PSNR " + rounded(psnr, 4) + " dB") + ", at least " +
                   rounded(*limits.min_psnr, 4) + " dB");
  }
  if (limits.max_seconds) {
    kept.push_back("time " + rounded(row.seconds(), 4) + " s at most " + rounded(*limits.max_seconds, 4) + " s");
  }
  if (limits.max_memory) {
    kept.push_back("memory " + bytes_text(row.measure.memory_bytes) + " at most " + bytes_text(*limits.max_memory));
  }
  return joined(kept);
}

std::vector<TunePick> picks_of(const LeverRow& chosen, const LeverRow* standard, const LeverResult& table,
                               const TuneLimits& limits) {
  std::vector<TunePick> picks;
  for (const LeverRoute& route : chosen.measure.routes) {
    TunePick pick{.call = route.call,
                  .role = route.role,
                  .calls = route.calls,
                  .backend = route.backend,
                  .kernel = route.kernel,
                  .seconds = route.seconds,
                  .default_seconds = standard == nullptr ? 0.0 : mean_seconds(*standard, route.call),
                  .cosine = cosine_of(route),
                  .reason = {}};
    const bool same =
        standard != nullptr &&
        std::any_of(standard->measure.routes.begin(), standard->measure.routes.end(), [&route](const LeverRoute& one) {
          return one.call == route.call && one.budget == route.budget && one.backend == route.backend &&
                 one.kernel == route.kernel;
        });
    pick.reason = served_as(route) + ": ";
    if (same) {
      pick.reason += "as by default";
    } else if (pick.default_seconds > 0.0) {
      const double factor = pick.default_seconds / std::max(pick.seconds, 1e-12);
      pick.reason += times_text(factor) + " the default's speed";
    } else {
      pick.reason += "the default serves no such call";
    }
    pick.reason += ", cosine " + cosine_text(pick.cosine);
    const double beside = pick.default_seconds > 0.0 ? pick.default_seconds : pick.seconds;
    for (const std::string& other : too_far(route, beside, table, limits)) pick.reason += "; " + other;
    picks.push_back(std::move(pick));
  }
  return picks;
}

}  // namespace attn::app
