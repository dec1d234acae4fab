// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/lever_job.h"
#include "app/jobs/levers/variants.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A gain below this share of the time is never believed, however quiet the machine seems.
inline constexpr double kLeastNoise = 0.02;

/// What became of a variant.
enum class LeverState : std::uint8_t {
  measured,
  skipped,  ///< it would change nothing, or the target has not what it needs; `reason` says which
  failed,   ///< it could not be run to its end; `reason` says why. Whatever it held is free
};
/// "measured", "skipped", "failed".
[[nodiscard]] std::string_view name_of(LeverState state) noexcept;

/// The calls of one role. Errors are the worst of its routes.
struct LeverRole {
  Role role = Role::transformer;
  std::int64_t calls = 0;
  double seconds = 0.0;           ///< all calls of one generation
  double baseline_seconds = 0.0;  ///< the baseline's for the same
  double relative_l1 = 0.0;
  double cosine = 1.0;
};

/// One variant and what it brings. There is no learned-feature distance (LPIPS): its network cannot be shipped here.
struct LeverRow {
  LeverVariant variant;
  LeverState state = LeverState::measured;
  std::string reason{};              ///< of skipped and failed: one sentence
  std::string same_as{};             ///< of skipped: the variant that has the same routes; empty: there is none
  std::vector<std::string> notes{};  ///< "without flash: not available on platform mps ..."
  std::string chain{};
  LeverMeasure measure{};  ///< of a measured one

  /// Median seconds of one generation, and the width of the repetitions: (largest - smallest) / median.
  [[nodiscard]] double seconds() const;
  [[nodiscard]] double attention_seconds() const;
  [[nodiscard]] double spread() const;
  /// Time as a share of the baseline's: the median over the repetitions of variant / baseline, each measured next to
  /// the other, so that a machine that slows down meanwhile does not count. 0.5: twice as fast; 1 for the baseline.
  [[nodiscard]] double relative_time() const;
  /// The width of those ratios, (largest - smallest) / median. For the baseline, which is measured against itself: how
  /// far their median is from 1, or the width without the outermost fifth on either side where that is more, as its
  /// noise counts for every row and one hiccup of the machine should not.
  [[nodiscard]] double own_noise() const;
  /// By role, in the order te, transformer, vae, none.
  [[nodiscard]] std::vector<LeverRole> roles() const;
  [[nodiscard]] double worst_relative_l1() const;
  /// The worst call's; 0 where a result is not finite.
  [[nodiscard]] double worst_cosine() const;
  /// The picture's mean squared error for a job that draws, else the relative L1: 0 is exact, less is better; infinite
  /// where a result is not finite.
  [[nodiscard]] double error() const;
};

/// What rows were measured with. Rows of different headers do not belong together.
struct LeverHeader {
  std::string version{};   ///< of the program
  std::string job{};       ///< its title
  std::string identity{};  ///< LeverJob::identity()
  std::string settings{};  ///< as given, as an Attnscope profile
  std::string target{};
  std::string machine{};  ///< kind of it: processor and threads
  int repeat = 3;
  bool draws = false;

  friend bool operator==(const LeverHeader&, const LeverHeader&) = default;
};

/// A table of variants.
struct LeverResult {
  LeverHeader header;
  std::vector<std::string> variants;  ///< names of all that were asked for, in order; rows may lack some
  std::vector<LeverRow> rows;         ///< the baseline first
  std::vector<std::string> mixed;     ///< a merge of rows that do not belong together: how they differ
  JobOutcome outcome = JobOutcome::finished;

  [[nodiscard]] const LeverRow* find(std::string_view name) const noexcept;
  [[nodiscard]] const LeverRow* baseline() const noexcept { return find("baseline"); }
  /// How far relative_time() of a row may be off, as a share of it: the largest of its own noise, the baseline's and
  /// kLeastNoise. Two probes of one job agree where they differ by no more than both their noises together.
  [[nodiscard]] double noise(const LeverRow& row) const;
  /// Variants that have no row yet.
  [[nodiscard]] std::size_t missing() const;
};

/// Indices of the measured rows that no other row beats in time without losing in error, by time.
[[nodiscard]] std::vector<std::size_t> pareto_front(const LeverResult& result);

/// Where a run of the levers is.
struct LeverProgress {
  std::size_t done = 0;   ///< variants
  std::size_t total = 0;  ///< variants to measure in this run
  std::string variant;    ///< that runs; empty at the end
  double share = 0.0;     ///< of that variant, 0..1
  double elapsed_seconds = 0.0;
  std::optional<double> seconds_left;
};

struct LeverRun {
  std::vector<LeverVariant> variants{};  ///< the baseline first
  LeverShard shard{};                    ///< which of them are measured; which have equal routes is judged over all
  int repeat = 3;
  LeverResult before{};  ///< rows that are there already are kept and not measured again
  /// Makes the engine of a variant; empty: lever_engine().
  std::function<Expected<std::unique_ptr<Engine>>(const LeverVariant&)> engine{};
  std::stop_token stop{};
  /// On the calling thread, at most about 30 times a second.
  std::function<void(const LeverProgress&)> progress{};
  /// On the calling thread after each variant, with all rows so far, the outcome still "stopped". An error ends the
  /// run with that error.
  std::function<Expected<void>(const LeverResult&)> row_done{};
};

/// Who measures here: the header of a run with these settings.
[[nodiscard]] LeverHeader lever_header(const LeverJob& job, const Engine& as_set, int repeat);

/// Measures the variants one after another, each in an engine of its own. Returns stopped soon after a stop was asked
/// for; a variant that had begun then has no row. `as_set` is only read, from the calling thread. Works on the calling
/// thread and on all others. Error: the baseline cannot be run, `before` has another header, or the baseline's result
/// is not the one that `before` was measured against.
[[nodiscard]] Expected<LeverResult> measure_levers(const LeverJob& job, const Engine& as_set, const LeverRun& run);

}  // namespace attn::app
