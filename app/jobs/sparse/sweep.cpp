// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

Expected<void> check(const SweepOptions& options) {
  if (options.budgets.empty()) return fail("a sweep needs at least one budget, such as 30");
  for (const double budget : options.budgets) {
    if (budget > 0.0 && budget <= 1.0) continue;
    return fail("the budget " + std::to_string(budget * 100.0) + " % must be above 0 and at most 100 %");
  }
  if (options.rounds < 1 || options.rounds > 1000) {
    return fail("the number of rounds is " + std::to_string(options.rounds) + "; 1 to 1000 would be right");
  }
  return {};
}

/// The seconds of one curve at one budget, by round.
struct Seconds {
  std::vector<double> select;
  std::vector<double> attention;

  void take(SparseQuality& quality) {
    select.push_back(quality.select_seconds);
    attention.push_back(quality.attention_seconds);
    quality.select_seconds = median(select);
    quality.attention_seconds = median(attention);
  }
};

class Sweep {
 public:
  Sweep(QualityProbe& probe, const SweepOptions& options, SweepResult& result, Clock::time_point begin)
      : probe_(probe), options_(options), result_(result), begin_(begin) {
    adaptive_.resize(options.budgets.size());
    radial_.resize(options.budgets.size());
    const auto per_round = static_cast<std::int64_t>(options.budgets.size()) * (options.radial ? 2 : 1) + 1;
    total_ = per_round * options.rounds;
  }

  Expected<void> run() {
    report();
    for (int round = 0; round < options_.rounds; ++round) {
      if (!go_on()) return {};
      const auto dense = probe_.run_dense();
      if (!dense) return fail(dense.error());
      dense_.push_back(*dense);
      result_.dense_seconds = median(dense_);
      step();
      for (std::size_t at = 0; at < options_.budgets.size(); ++at) {
        if (!go_on()) return {};
        if (const auto measured = measure(at); !measured) return fail(measured.error());
      }
      result_.rounds = round + 1;
    }
    return {};
  }

 private:
  bool go_on() {
    if (!options_.stop.stop_requested()) return true;
    result_.outcome = JobOutcome::stopped;
    return false;
  }

  /// Both curves of one budget; a row is there when both are, so a stop waits for the second.
  Expected<void> measure(std::size_t at) {
    const double budget = options_.budgets[at];
    auto adaptive = probe_.measure(SparsePattern::adaptive, budget);
    if (!adaptive) return fail(adaptive.error());
    adaptive_[at].take(*adaptive);
    SweepRow row;
    row.budget = budget;
    row.adaptive = *adaptive;
    if (options_.radial) {
      step();
      auto radial = probe_.measure(SparsePattern::radial, budget);
      if (!radial) return fail(radial.error());
      radial_[at].take(*radial);
      row.radial = *radial;
    }
    if (at < result_.rows.size()) {
      result_.rows[at] = row;
    } else {
      result_.rows.push_back(row);
    }
    step();
    return {};
  }

  void step() {
    ++done_;
    for (SweepRow& row : result_.rows) {
      row.speedup = row.adaptive.seconds() > 0.0 ? result_.dense_seconds / row.adaptive.seconds() : 0.0;
      if (row.radial && row.radial->seconds() > 0.0) row.radial_speedup = result_.dense_seconds / row.radial->seconds();
    }
    report();
  }

  void report() const {
    if (!options_.progress) return;
    JobProgress progress;
    progress.calls_done = done_;
    progress.calls_total = total_;
    progress.role = Role::transformer;
    progress.elapsed_seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (done_ > 0) {
      progress.seconds_left =
          progress.elapsed_seconds * static_cast<double>(total_ - done_) / static_cast<double>(done_);
    }
    options_.progress(progress, result_);
  }

  QualityProbe& probe_;
  const SweepOptions& options_;
  SweepResult& result_;
  Clock::time_point begin_;
  std::vector<double> dense_;
  std::vector<Seconds> adaptive_;
  std::vector<Seconds> radial_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

std::vector<double> default_budgets() { return {0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50, 0.70, 1.0}; }

Expected<SweepResult> sweep_budgets(const AttentionCall& call, const PlanEntry& entry, const SweepOptions& options) {
  if (const auto checked = check(options); !checked) return fail(checked.error());
  const auto begin = Clock::now();
  auto probe = QualityProbe::make(call, entry, {options.layout, options.head_shared, options.stop});
  if (!probe) return fail(probe.error());
  SweepResult result;
  result.backend = std::string(entry.name);
  result.kernel = std::string(probe->variant());
  result.query_tiles = probe->marks().grid().query_tiles();
  result.key_tiles = probe->marks().grid().key_tiles();
  result.pinned_tiles = selection_totals(probe->marks(), 1.0).pinned;
  if (const auto ran = Sweep(*probe, options, result, begin).run(); !ran) return fail(ran.error());
  return result;
}

}  // namespace attn::app
