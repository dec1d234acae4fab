// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tune/tune.h"

#include "app/jobs/nearest.h"
#include "app/jobs/tune/combine.h"
#include "app/jobs/tune/explain_tune.h"
#include "app/jobs/tune/tune_space.h"

#include <algorithm>
#include <utility>

namespace attn::app {
namespace {

/// Choices that are measured a second time before the default is taken.
constexpr std::size_t kMostChecks = 4;
/// Combinations of routes that are measured as a whole.
constexpr std::size_t kMostCombinations = 3;

/// A tuning on its way.
class Tuning {
 public:
  Tuning(const LeverJob& job, const Engine& as_set, const TuneRequest& request)
      : job_(job), as_set_(as_set), request_(request) {}

  Expected<TuneResult> run() {
    auto space = tune_space(as_set_, request_);
    if (!space) return fail(space.error());
    space_ = *std::move(space);
    result_.kept = space_.kept;
    if (auto more = measure_more(space_.variants); !more) return fail(more.error());
    if (stopped()) return stopped_result();
    if (request_.scope == TuneScope::route) {
      if (auto more = measure_combinations(); !more) return fail(more.error());
      if (stopped()) return stopped_result();
    }
    std::size_t checks = 0;
    for (const Candidate& candidate : candidates()) {
      if (++checks > kMostChecks) break;
      auto accepted = check(*candidate.variant);
      if (!accepted) return fail(accepted.error());
      if (stopped()) return stopped_result();
      if (*accepted) return std::move(result_);
    }
    return keep_default();
  }

 private:
  struct Candidate {
    const LeverVariant* variant = nullptr;
    double relative_time = 1.0;
  };

  [[nodiscard]] bool stopped() const { return request_.stop.stop_requested(); }
  TuneResult stopped_result() {
    result_.outcome = JobOutcome::stopped;
    result_.reason = "stopped before there was a choice";
    return std::move(result_);
  }

  [[nodiscard]] LeverRun run_of(std::vector<LeverVariant> variants) const {
    LeverRun run{.variants = std::move(variants), .repeat = request_.repeat};
    run.engine = [this](const LeverVariant& variant) { return tuned_engine(as_set_, variant); };
    run.stop = request_.stop;
    run.progress = request_.progress;
    return run;
  }

  /// Adds the rows of `variants` to the table.
  Expected<void> measure_more(const std::vector<LeverVariant>& variants) {
    LeverRun run = run_of(variants);
    run.before = std::move(result_.table);
    auto table = measure_levers(job_, as_set_, run);
    if (!table) return fail(table.error());
    result_.table = *std::move(table);
    return {};
  }

  Expected<void> measure_combinations() {
    std::vector<Combination> combined = combine_routes(job_, as_set_, request_, space_, result_.table);
    if (combined.size() > kMostCombinations) combined.resize(kMostCombinations);
    for (Combination& one : combined) space_.variants.push_back(std::move(one.variant));
    return combined.empty() ? Expected<void>() : measure_more(space_.variants);
  }

  [[nodiscard]] const LeverRow* standard() const { return figures_of(result_.table, "as-set"); }
  [[nodiscard]] bool standard_is_within() const {
    return standard() != nullptr && broken_limits(*standard(), request_.limits).empty();
  }
  /// Share of the default's time that a row saves. Without a default that runs, of the exact result's.
  [[nodiscard]] static double gain_of(const LeverRow& row, const LeverRow* standard) {
    const double beside = standard == nullptr ? 1.0 : standard->relative_time();
    return beside > 0.0 ? 1.0 - row.relative_time() / beside : 0.0;
  }
  /// What gain_of() may be off by, as a share of the default's time too: how far the ratio of two relative times may be
  /// off, of the time that is left.
  [[nodiscard]] static double noise_of(const LeverResult& table, const LeverRow& row, const LeverRow* standard) {
    const double ratio = std::max(table.noise(row), standard == nullptr ? 0.0 : table.noise(*standard));
    return std::max(kLeastNoise, ratio * (1.0 - gain_of(row, standard)));
  }

  /// Within the limits and above the noise, by time. What falls out is told.
  std::vector<Candidate> candidates() {
    std::vector<Candidate> fit;
    for (const LeverVariant& variant : space_.variants) {
      if (variant.group == LeverGroup::baseline || variant.group == LeverGroup::as_set) continue;
      // Where choices that stay leave nothing of a variant, it is the default once more, and only noise could prefer
      // it.
      if (change_of(as_set_, variant, 1.0, 0.0).empty()) continue;
      const LeverRow* own = result_.table.find(variant.name);
      // The same routes as another variant's: that one stands for both. Only the exact baseline has no settings.
      const bool twin = own != nullptr && own->state == LeverState::skipped && own->same_as != "baseline";
      const bool plain = variant.name == "plain" && own != nullptr && own->same_as == "baseline";
      if (twin || own == nullptr || (own->state != LeverState::measured && !plain)) continue;
      const LeverRow& row = *figures_of(result_.table, variant.name);
      const double gain = gain_of(row, standard());
      const double noise = noise_of(result_.table, row, standard());
      const std::vector<std::string> broken = broken_limits(row, request_.limits);
      const std::string speed = variant.name + " was " + times_text(1.0 / std::max(1.0 - gain, 1e-9));
      if (!broken.empty()) {
        if (gain > 0.0) refused_.emplace_back(gain, speed + " but " + joined(broken));
        if (nearest_.empty() || row.relative_time() < nearest_time_) {
          nearest_ = variant.name + ": " + joined(broken);
          nearest_time_ = row.relative_time();
        }
      } else if (standard_is_within() && gain <= noise) {
        if (gain > 0.0) refused_.emplace_back(gain, speed + ", which is within the noise of " + percent_of(noise));
      } else {
        fit.push_back({&variant, row.relative_time()});
      }
    }
    std::stable_sort(fit.begin(), fit.end(),
                     [](const auto& a, const auto& b) { return a.relative_time < b.relative_time; });
    return fit;
  }

  /// Measures default and candidate again, beside each other. True: the candidate is the choice.
  Expected<bool> check(const LeverVariant& variant) {
    LeverRun run = run_of({space_.variants[0], space_.variants[1], variant});
    auto again = measure_levers(job_, as_set_, run);
    if (!again) return fail(again.error());
    if (stopped()) return false;
    const LeverRow* row = figures_of(*again, variant.name);
    const LeverRow* beside = figures_of(*again, "as-set");
    if (row == nullptr) {
      refused_.emplace_back(1.0, variant.name + " could not be measured a second time");
      return false;
    }
    const double gain = gain_of(*row, beside);
    const double noise = noise_of(*again, *row, beside);
    const bool beside_is_within = beside != nullptr && broken_limits(*beside, request_.limits).empty();
    const std::vector<std::string> broken = broken_limits(*row, request_.limits);
    if (!broken.empty()) {
      refused_.emplace_back(gain, variant.name + ", measured again: " + joined(broken));
      return false;
    }
    if (beside_is_within && gain <= noise) {
      refused_.emplace_back(gain, variant.name + ", measured again, gains " + percent_of(gain) +
                                      ", which is within the noise of " + percent_of(noise));
      return false;
    }
    result_.chosen = variant.name;
    result_.changed = true;
    result_.checked = *row;
    result_.checked.variant = variant;
    result_.gain = gain;
    result_.noise = noise;
    result_.change = change_of(as_set_, variant, gain, noise);
    result_.reason = variant.name + ": " + times_text(1.0 / std::max(1.0 - gain, 1e-9)) + " the default's speed" +
                     (beside_is_within ? ""
                                       : ", and the default breaks a limit (" +
                                             (beside == nullptr ? std::string("it cannot run")
                                                                : joined(broken_limits(*beside, request_.limits))) +
                                             ")") +
                     "; " + kept_limits(*row, request_.limits);
    explain(beside);
    return true;
  }

  void explain(const LeverRow* beside) {
    std::stable_sort(refused_.begin(), refused_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [gain, sentence] : refused_) {
      if (gain > result_.gain) result_.refused.push_back(std::move(sentence));
    }
    result_.picks = picks_of(result_.checked, beside, result_.table, request_.limits);
    for (TunePick& pick : result_.picks) {
      pick.level = deciding_level(as_set_, request_, pick.role, result_.changed);
      pick.reason = std::string(name_of(pick.level)) + ": " + pick.reason;
    }
  }

  Expected<TuneResult> keep_default() {
    LeverRun run = run_of({space_.variants[0], space_.variants[1]});
    auto again = measure_levers(job_, as_set_, run);
    if (!again) return fail(again.error());
    if (stopped()) return stopped_result();
    const LeverRow* row = figures_of(*again, "as-set");
    const std::vector<std::string> broken =
        row == nullptr ? std::vector<std::string>{again->find("as-set")->reason} : broken_limits(*row, request_.limits);
    if (!broken.empty()) {
      return fail("nothing is within the limits; the default: " + joined(broken) +
                  (nearest_.empty() ? "" : "; the fastest of the others, " + nearest_));
    }
    result_.chosen = "as-set";
    result_.checked = *row;
    result_.noise = noise_of(*again, *row, row);
    result_.change = change_of(as_set_, space_.variants[1], 0.0, 0.0);
    result_.reason = "the default stays: nothing within the limits is faster by more than the noise of " +
                     percent_of(result_.noise) + "; " + kept_limits(*row, request_.limits);
    explain(row);
    return std::move(result_);
  }

  const LeverJob& job_;
  const Engine& as_set_;
  const TuneRequest& request_;
  TuneSpace space_;
  TuneResult result_;
  std::vector<std::pair<double, std::string>> refused_;  ///< with the gain over the default
  std::string nearest_;
  double nearest_time_ = 0.0;
};

}  // namespace

std::string_view name_of(TuneScope scope) noexcept { return scope == TuneScope::chain ? "chain" : "route"; }

std::optional<TuneScope> parse_tune_scope(std::string_view text) noexcept {
  if (text == name_of(TuneScope::chain)) return TuneScope::chain;
  if (text == name_of(TuneScope::route)) return TuneScope::route;
  return std::nullopt;
}

std::set<std::string, std::less<>> explicit_keys(const Engine& engine) {
  std::set<std::string, std::less<>> keys;
  const OptionValues values = engine.values();
  for (const OptionSpec& spec : engine.specs()) {
    if (!same_value(*values.find(spec.key), spec.fallback)) keys.insert(spec.key);
  }
  return keys;
}

Expected<TuneResult> tune(const LeverJob& job, const Engine& as_set, const TuneRequest& request) {
  if (request.limits.min_psnr && !job.draws()) {
    return fail("a least PSNR needs a job that draws pictures, and " + job.title() + " draws none");
  }
  return Tuning(job, as_set, request).run();
}

}  // namespace attn::app
