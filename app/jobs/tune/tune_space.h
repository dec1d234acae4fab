// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/tune/tune.h"

#include <memory>
#include <string>
#include <vector>

// What tuning may try. Private to tune/.
namespace attn::app {

/// What tuning may try, and what it may not touch.
struct TuneSpace {
  /// The exact baseline first, then the default ("as-set"), then the others. Unlike a probe's, each of those says where
  /// every key stands that it moves, so that its settings are the whole change.
  std::vector<LeverVariant> variants;
  std::vector<std::string> kept;  ///< what somebody chose, with the level that decided
};

/// Error: a glob or a label that there is not.
[[nodiscard]] Expected<TuneSpace> tune_space(const Engine& as_set, const TuneRequest& request);

/// The settings that a variant of a TuneSpace asks for over the engine's own: keys that are fixed stay, the others go
/// where the baseline has them unless `wanted` says so. Nullopt: `wanted` would move a key that is fixed.
[[nodiscard]] std::optional<SettingList> whole_settings(const Engine& as_set, const TuneRequest& request,
                                                        const SettingList& wanted);

/// An engine in the state of a variant of a TuneSpace: the choices that somebody made stay in force; a dispatcher's
/// backend is there as a measured choice, which gives way to them.
[[nodiscard]] Expected<std::unique_ptr<Engine>> tuned_engine(const Engine& as_set, const LeverVariant& variant);

/// What changes when a variant becomes the settings. `gain` and `noise` go into a measured choice.
[[nodiscard]] TuneChange change_of(const Engine& as_set, const LeverVariant& variant, double gain, double noise);

/// The row that holds a variant's figures, also where another variant has the same routes; null where there is none.
[[nodiscard]] const LeverRow* figures_of(const LeverResult& table, std::string_view name);

/// Who decides about a role: the level of the attention backend that is asked for, else explicit for all where the
/// overrides are fixed, else measured where something was chosen, else the default.
[[nodiscard]] ChoiceLevel deciding_level(const Engine& as_set, const TuneRequest& request, Role role, bool changed);

}  // namespace attn::app
