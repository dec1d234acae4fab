// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/link/settings_diff.h"

#include "ui/format/format.h"
#include "ui/link/settings_history.h"

#include <QCoreApplication>
#include <QStringList>

namespace attn::ui {

namespace {

QString said(const char* text) { return QCoreApplication::translate("SettingsDiff", text); }

SettingChange change_of(const QString& label, const QString& before, const QString& after) {
  return {{}, label, before, after, label + ' ' + before + QStringLiteral(" → ") + after};
}

QString target_text(const Target& target) { return text_of(target.label.empty() ? target.name : target.label); }

QString attention_text(const AttentionChoices& choices) {
  QStringList parts;
  if (choices.all) parts << text_of(*choices.all);
  for (const auto& [role, name] : choices.per_role) parts << text_of(name_of(role)) + ": " + text_of(name);
  if (choices.required) parts << said("%1 as the model requires").arg(text_of(*choices.required));
  return parts.isEmpty() ? said("none asked for") : parts.join(", ");
}

QString required_text(const std::vector<std::string>& required) {
  QStringList names;
  for (const std::string& name : required) names << text_of(name);
  return names.isEmpty() ? said("every fallback allowed") : said("require %1").arg(names.join(", "));
}

SettingChange option_change(const OptionSpec& spec, const OptionValue& before, const OptionValue& after) {
  SettingChange change{
      text_of(spec.key), text_of(spec.label), setting_text(spec, before), setting_text(spec, after), {}};
  const QStringList items = item_changes(before, after);
  // Beside others, "Enabled" alone says nothing.
  const std::string short_name = short_label(spec);
  const QString name = text_of(short_name == "Enabled" ? spec.label : short_name);
  change.words =
      !items.isEmpty() ? items.join(", ") : name + ' ' + change.before + QStringLiteral(" → ") + change.after;
  return change;
}

}  // namespace

std::vector<std::string> differing_keys(const OptionValues& before, const OptionValues& after) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : after.all()) {
    const OptionValue* old = before.find(key);
    if (old == nullptr || !same_value(*old, value)) keys.push_back(key);
  }
  return keys;
}

QString setting_text(const OptionSpec& spec, const OptionValue& value) {
  if (const bool* on = std::get_if<bool>(&value)) return *on ? said("on") : said("off");
  if (const auto* items = std::get_if<OptionList>(&value)) {
    QStringList names;
    for (const std::string& item : *items) names << text_of(item);
    return names.isEmpty() ? said("none") : names.join(", ");
  }
  const QString text = text_of(value_text(value));
  if (text.isEmpty()) return said("none");
  return spec.unit.empty() ? text : text + ' ' + text_of(spec.unit);
}

QStringList item_changes(const OptionValue& before, const OptionValue& after) {
  const auto* old_list = std::get_if<OptionList>(&before);
  const auto* new_list = std::get_if<OptionList>(&after);
  if (old_list == nullptr || new_list == nullptr) return {};
  QStringList parts;
  for (const std::string& item : *new_list) {
    if (!has_item(before, item)) parts << said("%1 on").arg(text_of(item));
  }
  for (const std::string& item : *old_list) {
    if (!has_item(after, item)) parts << said("%1 off").arg(text_of(item));
  }
  return parts;
}

std::vector<SettingChange> changes_between(const std::vector<OptionSpec>& specs, const SettingsPoint& before,
                                           const SettingsPoint& after) {
  std::vector<SettingChange> changes;
  if (before.target.name != after.target.name) {
    changes.push_back(change_of(said("Target"), target_text(before.target), target_text(after.target)));
  }
  for (const OptionSpec& spec : specs) {
    const OptionValue* old_value = before.values.find(spec.key);
    const OptionValue* new_value = after.values.find(spec.key);
    if (old_value == nullptr || new_value == nullptr || same_value(*old_value, *new_value)) continue;
    changes.push_back(option_change(spec, *old_value, *new_value));
  }
  if (!(before.attention == after.attention)) {
    SettingChange change =
        change_of(said("Attention backend"), attention_text(before.attention), attention_text(after.attention));
    // `hf_attention` is an option of its own and stands above.
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  if (before.required != after.required) {
    changes.push_back(
        change_of(said("Prefer or require"), required_text(before.required), required_text(after.required)));
  }
  return changes;
}

}  // namespace attn::ui
