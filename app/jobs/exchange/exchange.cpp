// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/exchange/exchange.h"

#include <algorithm>
#include <map>

namespace attn::app {
namespace {

constexpr std::string_view kUnsaid = "not said";

std::string said(const std::optional<std::string>& text) { return text.value_or(std::string(kUnsaid)); }

/// Everything in `choices` that has a name of its own, as text.
std::map<std::string, std::string> words_of(const AttentionChoices& choices) {
  std::map<std::string, std::string> words{{"attention_backend", said(choices.all)},
                                           {"required by the model", said(choices.required)},
                                           {"platform default", choices.standard},
                                           {"speed profile", choices.speed_active ? "on" : "off"}};
  for (const Role role : kChoiceRoles) {
    const std::string name(name_of(role));
    const auto own = choices.per_role.find(role);
    words["attention_backend, " + name] = own == choices.per_role.end() ? std::string(kUnsaid) : own->second;
    const auto strict = choices.strict.find(role);
    words["strict, " + name] = strict == choices.strict.end() ? std::string(kUnsaid) : strict->second ? "on" : "off";
    const auto measured = choices.measured.find(role);
    words["measured, " + name] = measured == choices.measured.end() ? std::string(kUnsaid) : measured->second.backend;
  }
  return words;
}

std::string reasons_of(const Quarantine& quarantine) {
  std::string text;
  for (const Quarantined& one : quarantine) text += (text.empty() ? "" : "; ") + one.backend + " " + one.reason();
  return text.empty() ? "none" : text;
}

}  // namespace

ProductionSettings production_settings(const Engine& engine) {
  ProductionSettings settings{engine.specs(), engine.values(), engine.attention(), engine.quarantine()};
  settings.attention.dispatcher.clear();
  return settings;
}

Expected<void> take_import(const ImportText& imported, Engine& engine) {
  if (!imported.problems.empty()) return fail(imported.problems.front());
  ImportText::Values all = imported.values;
  all.insert(all.end(), imported.absent.begin(), imported.absent.end());
  if (auto set = engine.set_all(all); !set) return fail(set.error());
  if (!imported.quarantine.empty()) engine.set_quarantine(imported.quarantine);
  if (!imported.attention) return {};
  return engine.set_attention(*imported.attention);
}

std::vector<SettingChange> changes_of(const ImportText& imported, const ProductionSettings& now) {
  std::vector<SettingChange> changes;
  if (!imported.problems.empty()) return changes;
  const auto add = [&](const ImportText::Values& values, bool left_out) {
    for (const auto& [key, value] : values) {
      const OptionValue* old = now.values.find(key);
      if (old == nullptr || same_value(*old, value)) continue;
      changes.push_back({key, value_text(*old), value_text(value), left_out});
    }
  };
  add(imported.values, false);
  add(imported.absent, true);
  if (imported.attention) {
    const std::map<std::string, std::string> before = words_of(now.attention);
    for (const auto& [name, after] : words_of(*imported.attention)) {
      if (before.at(name) != after) changes.push_back({name, before.at(name), after, false});
    }
  }
  if (!imported.quarantine.empty() && imported.quarantine != now.quarantine) {
    changes.push_back({"quarantine", reasons_of(now.quarantine), reasons_of(imported.quarantine), false});
  }
  return changes;
}

}  // namespace attn::app
