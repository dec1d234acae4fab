// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/levers.h"
#include "app/jobs/profile/profile.h"
#include "app/jobs/resources.h"

#include <QtGlobal>

#include <atomic>
#include <map>
#include <string>
#include <utility>

namespace attn::test {

/// Passes everything on to a real job and counts the measurements.
class CountedJob : public app::LeverJob {
 public:
  explicit CountedJob(const app::LeverJob& real) : real_(real) {}
  [[nodiscard]] std::string title() const override { return real_.title(); }
  [[nodiscard]] std::string identity() const override { return real_.identity(); }
  [[nodiscard]] bool draws() const override { return real_.draws(); }
  [[nodiscard]] std::int64_t steps() const override { return real_.steps(); }
  [[nodiscard]] PipelineInfo pipeline() const override { return real_.pipeline(); }
  [[nodiscard]] std::vector<app::LeverCall> calls(const Target& target) const override { return real_.calls(target); }
  [[nodiscard]] Expected<app::LeverMeasure> measure(const app::LeverSetup& baseline, const app::LeverSetup& variant,
                                                    const app::LeverRepeat& how) const override {
    ++measured_;
    return real_.measure(baseline, variant, how);
  }
  [[nodiscard]] int measured() const { return measured_; }

 private:
  const app::LeverJob& real_;
  mutable std::atomic<int> measured_{0};
};

/// A real job, whose results are real and whose times are stated: seconds of one call by the backend that executed it,
/// each off by up to `unrest` of itself. The same seed gives the same times.
class TimedJob final : public CountedJob {
 public:
  TimedJob(const app::LeverJob& real, std::map<std::string, double> seconds, double unrest, std::uint64_t seed)
      : CountedJob(real), seconds_(std::move(seconds)), unrest_(unrest), state_(seed * 2654435761U + 12345U) {}

  [[nodiscard]] Expected<app::LeverMeasure> measure(const app::LeverSetup& baseline, const app::LeverSetup& variant,
                                                    const app::LeverRepeat& how) const override {
    app::LeverRepeat once = how;
    once.repeat = 1;
    once.shortest = 0.0;
    auto measure = CountedJob::measure(baseline, variant, once);
    if (!measure) return measure;
    double total = 0.0;
    double exact = 0.0;
    for (app::LeverRoute& route : measure->routes) {
      route.baseline_seconds = seconds_.at("sdpa");
      const auto stated = seconds_.find(route.backend);
      route.seconds = stated == seconds_.end() ? route.baseline_seconds : stated->second;
      total += route.seconds * static_cast<double>(route.calls);
      exact += route.baseline_seconds * static_cast<double>(route.calls);
    }
    measure->seconds.clear();
    measure->baseline_seconds.clear();
    for (int i = 0; i < how.repeat; ++i) {
      measure->seconds.push_back(total * off());
      measure->baseline_seconds.push_back(exact * off());
    }
    measure->attention_seconds = measure->seconds;
    return measure;
  }

 private:
  /// 1 - unrest .. 1 + unrest (a linear congruential generator; D. Knuth's constants).
  [[nodiscard]] double off() const {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return 1.0 + unrest_ * (static_cast<double>(state_ >> 11) * 0x1p-53 * 2.0 - 1.0);
  }

  std::map<std::string, double> seconds_;
  double unrest_;
  mutable std::uint64_t state_;
};

/// A table in which the baseline is done, for a job whose baseline would take too long.
[[nodiscard]] inline app::LeverResult finished_baseline(const app::LeverJob& job, const Engine& engine, int repeat) {
  app::LeverResult result;
  result.header = app::lever_header(job, engine, repeat);
  result.variants = {"baseline"};
  result.rows.emplace_back().variant = app::lever_variants(engine, false).front();
  return result;
}

[[nodiscard]] inline app::ProfileLibrary bundled_profiles() {
  const auto text = app::read_text(app::resource_path("models/models.json"));
  auto library = app::ProfileLibrary::parse(text ? *text : "", "models.json");
  if (!library) qFatal("%s", library.error().c_str());
  return *std::move(library);
}

}  // namespace attn::test
