// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/levers.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// What is picked at a time.
enum class TuneScope : std::uint8_t {
  chain,  ///< one of the levers' variants for everything
  route,  ///< for each kind of call the best that the settings can give it: overrides, sparse stage and dispatcher are
          ///< combined out of what was measured of each route alone
};
/// "chain", "route".
[[nodiscard]] std::string_view name_of(TuneScope scope) noexcept;
[[nodiscard]] std::optional<TuneScope> parse_tune_scope(std::string_view text) noexcept;

/// What a choice may not do. The choice is measured once more before it is returned and is within all of them.
struct TuneLimits {
  std::optional<double> max_seconds;       ///< of one generation, as LeverMeasure has it
  std::optional<std::int64_t> max_memory;  ///< bytes, LeverMeasure::memory_bytes
  double min_cosine = 0.99;                ///< of the worst call
  std::optional<double> min_psnr;          ///< decibels; for a job that draws
};
/// The limits that a row breaks, "cosine 0.97 is under 0.99"; empty when it keeps all.
[[nodiscard]] std::vector<std::string> broken_limits(const LeverRow& row, const TuneLimits& limits);

/// What to tune.
struct TuneRequest {
  TuneScope scope = TuneScope::chain;
  TuneLimits limits;
  OptionList backends;             ///< labels of the override backends to try; empty: all
  std::vector<std::string> globs;  ///< variants to try; empty: all
  /// Keys that somebody set by hand: a measured choice leaves them as they are. explicit_keys() finds them.
  std::set<std::string, std::less<>> fixed;
  int repeat = 5;
  std::stop_token stop;
  std::function<void(const LeverProgress&)> progress;
};

/// Keys whose value is not the target's default, so that somebody must have set them.
[[nodiscard]] std::set<std::string, std::less<>> explicit_keys(const Engine& engine);

/// What tuning changes about an engine, and what was there before.
struct TuneChange {
  SettingList before;
  SettingList after;  ///< the same keys in the same order
  AttentionChoices attention_before;
  AttentionChoices attention_after;

  [[nodiscard]] bool empty() const { return after.empty() && attention_before == attention_after; }
  /// "- sdp_overrides: none" and "+ sdp_overrides: Sage attention", a pair of lines for each; empty for no change.
  [[nodiscard]] std::string text() const;
  /// All or nothing. Error: a value that the engine's target does not take.
  [[nodiscard]] Expected<void> apply(Engine& engine) const;
  [[nodiscard]] Expected<void> undo(Engine& engine) const;
};

/// Who serves one kind of call after tuning, and why.
struct TunePick {
  std::string call;
  Role role = Role::transformer;
  std::int64_t calls = 0;
  std::string backend;
  std::string kernel;
  ChoiceLevel level = ChoiceLevel::standard;  ///< who decided
  double seconds = 0.0;                       ///< of one call
  double default_seconds = 0.0;
  double cosine = 1.0;
  std::string reason;  ///< "sage: 1.42x faster than the default, cosine 0.9996; sdnq was 1.6x but cosine 0.97 is under
                       ///< 0.99"
};

/// A choice by measurement.
struct TuneResult {
  LeverResult table;     ///< everything that was measured
  std::string chosen;    ///< the variant; "as-set" where the default stays
  bool changed = false;  ///< false: the default stays
  LeverRow checked;      ///< the choice, measured again at the end
  double gain = 0.0;     ///< share of the default's time that it saves, at that second measurement
  double noise = 0.0;    ///< that a gain has to be above; at least kLeastNoise
  TuneChange change;
  std::vector<TunePick> picks;
  std::string reason;                ///< of the choice
  std::vector<std::string> refused;  ///< what would have been faster, and why it is not the choice
  std::vector<std::string> kept;     ///< what somebody chose and tuning left alone, with the level that decided
  JobOutcome outcome = JobOutcome::finished;  ///< stopped: there is no choice
};

/// Measures, picks and measures the pick again; where that breaks a limit or gains no more than the noise, the next
/// best, at last the default. Precedence: required by the model, explicit per role, explicit for all, measured,
/// default: keys in `fixed` and attention backends that were asked for stay. `as_set` is only read. The default is
/// `as_set`. Error: nothing is within the limits, the default included, with what came nearest; or exact attention
/// cannot run.
[[nodiscard]] Expected<TuneResult> tune(const LeverJob& job, const Engine& as_set, const TuneRequest& request);

}  // namespace attn::app
