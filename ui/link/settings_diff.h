// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <QString>
#include <string>
#include <vector>

namespace attn::ui {

struct SettingsPoint;

/// One thing that was set differently, as people read it.
struct SettingChange {
  QString key;    ///< of the option; empty for target, attention backend and what is required
  QString label;  ///< "Sparse Attention KV budget"
  QString before;
  QString after;
  QString words;  ///< "KV budget 30 % → 45 %", "Sage attention on"
  friend bool operator==(const SettingChange&, const SettingChange&) = default;
};

/// Keys whose values differ.
[[nodiscard]] std::vector<std::string> differing_keys(const OptionValues& before, const OptionValues& after);
/// "on", "30 %", "none".
[[nodiscard]] QString setting_text(const OptionSpec& spec, const OptionValue& value);
/// "SDNQ attention on" for each item of a list that came or went; none where the values are no lists.
[[nodiscard]] QStringList item_changes(const OptionValue& before, const OptionValue& after);

/// Everything that differs, the target first, then the options in the order of `specs`, then who is asked first.
[[nodiscard]] std::vector<SettingChange> changes_between(const std::vector<OptionSpec>& specs,
                                                         const SettingsPoint& before, const SettingsPoint& after);

}  // namespace attn::ui
