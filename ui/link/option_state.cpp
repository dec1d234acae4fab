// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/link/option_state.h"

#include <algorithm>
#include <cctype>

namespace attn::ui {

namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

OptionStates option_states(const Engine& engine, const OptionValues* job_began_with) {
  const OptionValues values = engine.values();
  const std::vector<PendingChange> pending = engine.pending();
  OptionStates states;
  for (OptionSpec& spec : engine.specs()) {
    OptionState state;
    const OptionValue* value = values.find(spec.key);
    state.wanted = value != nullptr ? *value : spec.fallback;
    state.applied = state.wanted;
    for (const PendingChange& change : pending) {
      if (change.key != spec.key) continue;
      state.applied = change.applied;
      state.edited = true;
    }
    const bool waits = spec.applies == Applies::gate || spec.applies == Applies::model_load;
    if (waits && job_began_with != nullptr) {
      if (const OptionValue* held = job_began_with->find(spec.key); held != nullptr) state.applied = *held;
      state.edited = !same_value(state.applied, state.wanted);
    }
    state.changed = !same_value(state.applied, spec.fallback);
    state.spec = std::move(spec);
    states.push_back(std::move(state));
  }
  return states;
}

const OptionState* find_state(const OptionStates& states, std::string_view key) {
  const auto at = std::find_if(states.begin(), states.end(), [&](const OptionState& s) { return s.spec.key == key; });
  return at == states.end() ? nullptr : &*at;
}

bool has_item(const OptionValue& list, std::string_view item) {
  const auto* items = std::get_if<OptionList>(&list);
  return items != nullptr && std::find(items->begin(), items->end(), item) != items->end();
}

OptionValue with_item(const OptionState& state, std::string_view item, bool on) {
  OptionList out;
  const auto wanted = [&](std::string_view choice) { return choice == item ? on : has_item(state.wanted, choice); };
  const OptionList& choices = state.spec.choices;
  std::copy_if(choices.begin(), choices.end(), std::back_inserter(out), wanted);
  if (const auto* items = std::get_if<OptionList>(&state.wanted)) {
    for (const std::string& kept : *items) {
      if (std::find(choices.begin(), choices.end(), kept) == choices.end()) out.push_back(kept);
    }
  }
  return out;
}

std::string short_label(const OptionSpec& spec) {
  const std::string& label = spec.label;
  const std::string& section = spec.section;
  if (label == section) return "Enabled";
  if (label.size() <= section.size() + 1 || label[section.size()] != ' ' || section.empty() ||
      !std::equal(section.begin(), section.end(), label.begin(), same_letter)) {
    return label;
  }
  std::string rest = label.substr(section.size() + 1);
  rest[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(rest[0])));
  return rest;
}

}  // namespace attn::ui
