// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/choice_row.h"

namespace attn::ui {

class JobControl;
class RequireToggle;

/// What is known of a backend on the target, for a line under its name.
struct BackendFact {
  QString text;              ///< "✓ ready", "needs rocm or zluda", "failed: ..."
  const char* look = "dim";  ///< as set_look() takes it
  QString tip;
};
/// `report` is the plan in force's, or null; `wanted_on` and `applied_on` whether the override is on.
[[nodiscard]] BackendFact backend_fact(const BackendSpec& spec, const BackendReport* report, const Target& target,
                                       bool wanted_on, bool applied_on);

/// One backend of the overrides: its box, prefer or require, and below what it is on this target and how many calls of
/// the last run it served.
class BackendRow final : public ChoiceRow {
  Q_OBJECT

 public:
  BackendRow(EngineLink& link, JobControl& jobs, const Theme& theme, const OptionState& state, const BackendSpec& spec,
             QWidget* parent = nullptr);

  [[nodiscard]] const BackendSpec& spec() const noexcept { return spec_; }
  /// `served`: calls of the last run; nullopt while there is no run.
  void show_facts(const BackendFact& fact, std::optional<std::int64_t> served);

 private:
  void show_required();
  void set_required(bool required);

  JobControl& jobs_;
  const BackendSpec& spec_;  ///< the registry's
  RequireToggle* toggle_;
};

}  // namespace attn::ui
