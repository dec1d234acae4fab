// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <string_view>
#include <vector>

namespace attn::ui {

/// An option as the control panel shows it: what is wanted, what the chain in force has, what the default is.
struct OptionState {
  OptionSpec spec;
  OptionValue wanted;
  OptionValue applied;
  bool edited = false;   ///< wanted differs from applied: the amber mark
  bool changed = false;  ///< applied differs from the default: the blue mark
};
using OptionStates = std::vector<OptionState>;

/// Every option of the engine, in the order of its specs. `job_began_with`: the values at the start of the job that
/// runs, which holds options that are looked at when a generation starts or a model loads; null while none runs.
[[nodiscard]] OptionStates option_states(const Engine& engine, const OptionValues* job_began_with = nullptr);
[[nodiscard]] const OptionState* find_state(const OptionStates& states, std::string_view key);

/// Whether `item` is in a list option's value.
[[nodiscard]] bool has_item(const OptionValue& list, std::string_view item);
/// The list with `item` put in or taken out, in the order of `choices`; unknown items stay at the end.
[[nodiscard]] OptionValue with_item(const OptionState& state, std::string_view item, bool on);

/// The label without the name of the section it stands under: "Sparse Attention KV budget" under "Sparse
/// attention" is "KV budget".
[[nodiscard]] std::string short_label(const OptionSpec& spec);

}  // namespace attn::ui
