// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/levers.h"

#include "app/jobs/levers/machine.h"
#include "app/jobs/levers/results_file.h"
#include "app/jobs/levers/variant_plan.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

/// A run of the levers on its way.
class Run {
 public:
  Run(const LeverJob& job, const Engine& as_set, const LeverRun& run) : job_(job), as_set_(as_set), run_(run) {
    result_.header = lever_header(job, as_set, run.repeat);
    result_.outcome = JobOutcome::stopped;
    result_.variants = run.before.variants;
    mine_ = shard_of(run.variants, run.shard);
    for (const LeverVariant& variant : mine_) {
      const auto known = std::find(result_.variants.begin(), result_.variants.end(), variant.name);
      if (known == result_.variants.end()) result_.variants.push_back(variant.name);
    }
    for (const LeverRow& row : run.before.rows) {
      // What failed may have failed for want of memory.
      if (row.state != LeverState::failed) result_.rows.push_back(row);
    }
    total_ = static_cast<std::size_t>(std::count_if(
        mine_.begin(), mine_.end(), [this](const auto& one) { return result_.find(one.name) == nullptr; }));
  }

  Expected<LeverResult> measure() {
    auto baseline = make(run_.variants.front());
    if (!baseline) return fail(baseline.error());
    const VariantPlan exact = plan_variant(job_, **baseline, run_.variants.front());
    if (!exact.problem.empty()) return fail("exact attention: " + exact.problem);
    for (const LeverVariant& variant : run_.variants) {
      if (run_.stop.stop_requested()) return result_;
      auto planned = plan_one(variant, exact);
      if (!planned) return fail(planned.error());
      if (result_.find(variant.name) != nullptr) continue;
      if (std::find(mine_.begin(), mine_.end(), variant) == mine_.end()) continue;
      LeverRow row = *std::move(planned);
      if (row.state == LeverState::measured) {
        report(variant.name, 0.0);
        auto measured = measure_one(**baseline, std::move(row));
        if (!measured) return fail(measured.error());
        if (!*measured) return result_;
        row = **std::move(measured);
      }
      if (row.variant.group == LeverGroup::baseline && row.state == LeverState::failed) {
        return fail("exact attention: " + row.reason);
      }
      if (auto told = keep(std::move(row)); !told) return fail(told.error());
    }
    report({}, 0.0, true);
    result_.outcome = JobOutcome::finished;
    return std::move(result_);
  }

 private:
  [[nodiscard]] Expected<std::unique_ptr<Engine>> make(const LeverVariant& variant) const {
    return run_.engine ? run_.engine(variant) : lever_engine(as_set_, variant);
  }

  /// The row of a variant as its routes have it: state measured where it has to be measured.
  Expected<LeverRow> plan_one(const LeverVariant& variant, const VariantPlan& exact) {
    LeverRow row{.variant = variant};
    auto engine = make(variant);
    if (!engine) return fail(engine.error());
    const VariantPlan plan = plan_variant(job_, **engine, variant);
    row.chain = plan.chain;
    row.notes = plan.notes;
    if (!plan.problem.empty()) {
      row.state = plan.unavailable ? LeverState::skipped : LeverState::failed;
      row.reason = plan.problem;
      return row;
    }
    if (variant.group == LeverGroup::baseline) {
      signatures_.emplace_back(plan.signature, variant.name);
      return row;
    }
    if (plan.signature == exact.signature) {
      row.state = LeverState::skipped;
      row.same_as = "baseline";
      row.reason = "changes no route" + (plan.why_unchanged.empty() ? "" : ": " + plan.why_unchanged);
      return row;
    }
    const auto same = std::find_if(signatures_.begin(), signatures_.end(),
                                   [&plan](const auto& known) { return known.first == plan.signature; });
    if (same == signatures_.end()) {
      signatures_.emplace_back(plan.signature, variant.name);
      return row;
    }
    row.state = LeverState::skipped;
    row.same_as = same->second;
    row.reason = "has the same routes as " + same->second;
    if (variant.group == LeverGroup::sparse && !plan.why_unchanged.empty()) row.reason += ": " + plan.why_unchanged;
    return row;
  }

  /// Nullopt: stopped. Error: the run has to end.
  Expected<std::optional<LeverRow>> measure_one(Engine& baseline, LeverRow row) {
    auto engine = make(row.variant);
    if (!engine) return fail(engine.error());
    Expected<LeverMeasure> measure = fail("");
    try {
      measure = job_.measure({baseline, false}, {**engine, row.variant.compiled},
                             {.repeat = run_.repeat, .stop = run_.stop, .progress = [this, &row](double share) {
                                report(row.variant.name, share);
                              }});
    } catch (const std::exception& thrown) {
      measure = fail(std::string("broke off: ") + thrown.what());
    }
    if (!measure) {
      if (run_.stop.stop_requested()) return std::optional<LeverRow>();
      row.state = LeverState::failed;
      row.reason = measure.error();
      return std::optional(std::move(row));
    }
    const LeverRow* first = result_.baseline();
    const bool same = first == nullptr || first->measure.baseline_hash == measure->baseline_hash;
    if (!same) {
      return fail(row.variant.name +
                  ": exact attention gave another result beside it than beside the rows that are there; they are of "
                  "another model or program, so begin a new file");
    }
    row.measure = *std::move(measure);
    return std::optional(std::move(row));
  }

  Expected<void> keep(LeverRow row) {
    result_.rows.push_back(std::move(row));
    const auto place = [this](const LeverRow& one) {
      return std::find(result_.variants.begin(), result_.variants.end(), one.variant.name);
    };
    std::stable_sort(result_.rows.begin(), result_.rows.end(),
                     [&place](const LeverRow& a, const LeverRow& b) { return place(a) < place(b); });
    ++done_;
    return run_.row_done ? run_.row_done(result_) : Expected<void>();
  }

  void report(std::string variant, double share, bool now = false) {
    if (!run_.progress) return;
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (!now && share > 0.0 && share < 1.0 && elapsed - sent_ < 1.0 / 30.0) return;
    sent_ = elapsed;
    LeverProgress progress{done_, total_, std::move(variant), share, elapsed, {}};
    const double done = static_cast<double>(done_) + share;
    // Variants that turn out to change nothing take no time, so this is an upper bound at first.
    if (done > 0.0) progress.seconds_left = elapsed * (static_cast<double>(total_) - done) / done;
    run_.progress(progress);
  }

  const LeverJob& job_;
  const Engine& as_set_;
  const LeverRun& run_;
  LeverResult result_;
  std::vector<LeverVariant> mine_;                               ///< of this shard
  std::vector<std::pair<std::string, std::string>> signatures_;  ///< with the variant that had it first
  Clock::time_point begin_ = Clock::now();
  double sent_ = -1.0;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

LeverHeader lever_header(const LeverJob& job, const Engine& as_set, int repeat) {
  return {.version = program_version(),
          .job = job.title(),
          .identity = job.identity(),
          .settings = settings_text(as_set),
          .target = as_set.target().name,
          .machine = machine_kind(),
          .repeat = repeat,
          .draws = job.draws()};
}

Expected<LeverResult> measure_levers(const LeverJob& job, const Engine& as_set, const LeverRun& run) {
  if (run.variants.empty() || run.variants.front().group != LeverGroup::baseline) {
    return fail("the variants have to begin with the baseline");
  }
  if (run.repeat < 1)
    return fail("a variant has to be run once at least, not " + std::to_string(run.repeat) + " times");
  if (!run.before.rows.empty()) {
    const auto differences = header_differences(run.before.header, lever_header(job, as_set, run.repeat));
    if (!differences.empty()) return fail(differences.front());
  }
  return Run(job, as_set, run).measure();
}

}  // namespace attn::app
