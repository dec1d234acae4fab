// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/engine_link.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <functional>
#include <vector>

class QHBoxLayout;

namespace attn::ui {

class ChangeMark;

/// A row of the control panel: the two marks, then whatever shows and edits a value.
class OptionRow : public QWidget {
  Q_OBJECT

 public:
  /// Whether the row says anything of `needle`, which is lower case.
  [[nodiscard]] bool matches(const QString& needle) const { return search_text_.contains(needle); }
  /// The present state of the row's option.
  virtual void show_state(const OptionState& state) = 0;
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] bool is_edited() const noexcept;
  [[nodiscard]] bool is_changed() const noexcept;

 protected:
  OptionRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);
  void set_marks(bool edited, const QString& applied, bool changed, const QString& fallback);
  /// What the marks' clicks do.
  std::function<void()> undo_edit;
  std::function<void()> undo_change;

  EngineLink& link_;
  const Theme& theme_;
  QHBoxLayout* row_;
  QString search_text_;

 private:
  std::string key_;
  ChangeMark* edited_;
  ChangeMark* changed_;
};

/// A form for an option, made from its spec: check box, spin box with slider, combo box or line edit. A list of
/// choices gives one row per choice.
[[nodiscard]] std::vector<OptionRow*> make_option_rows(EngineLink& link, const Theme& theme, const OptionState& state,
                                                       QWidget* parent);

/// Help, default, key and what a change rebuilds, as a tooltip.
[[nodiscard]] QString tip_of(const OptionSpec& spec);
/// A value as a person reads it: "on", "30 %", "Flash, Math".
[[nodiscard]] QString readable(const OptionSpec& spec, const OptionValue& value);

}  // namespace attn::ui
