// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tune/tune.h"

namespace attn::app {
namespace {

std::string choice_text(const AttentionChoices& choices, Role role) {
  const auto found = choices.measured.find(role);
  if (found == choices.measured.end()) return "none";
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.3g", 100.0 * found->second.gain);
  return found->second.backend + " (saves " + gain + " % of the time)";
}

Expected<void> put(Engine& engine, const SettingList& settings, const AttentionChoices& attention) {
  const OptionValues before = engine.values();
  if (auto set = engine.set_all(settings); !set) return fail(set.error());
  auto set = engine.set_attention(attention);
  if (set) return {};
  SettingList back;
  for (const auto& [key, value] : settings) back.emplace_back(key, *before.find(key));
  (void)engine.set_all(back);  // they were valid a moment ago
  return fail(set.error());
}

}  // namespace

std::string TuneChange::text() const {
  std::string text;
  const auto shown = [](const OptionValue& value) {
    const std::string written = value_text(value);
    return written.empty() ? std::string("none") : written;
  };
  for (std::size_t i = 0; i < after.size(); ++i) {
    text += "- " + before[i].first + ": " + shown(before[i].second) + "\n";
    text += "+ " + after[i].first + ": " + shown(after[i].second) + "\n";
  }
  for (const Role role : kChoiceRoles) {
    const std::string old_choice = choice_text(attention_before, role);
    const std::string new_choice = choice_text(attention_after, role);
    if (old_choice == new_choice) continue;
    const std::string key = "measured attention backend of the " + std::string(name_of(role));
    text += "- " + key + ": " + old_choice + "\n+ " + key + ": " + new_choice + "\n";
  }
  return text;
}

Expected<void> TuneChange::apply(Engine& engine) const { return put(engine, after, attention_after); }

Expected<void> TuneChange::undo(Engine& engine) const { return put(engine, before, attention_before); }

}  // namespace attn::app
