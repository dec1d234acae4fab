// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/option_row.h"

class QCheckBox;
class QLabel;

namespace attn::ui {

/// One choice of a list option: a check box, for a backend its colour, and on the right what it is on this target.
class ChoiceRow : public OptionRow {
  Q_OBJECT

 public:
  ChoiceRow(EngineLink& link, const Theme& theme, const OptionState& state, const std::string& choice,
            QWidget* parent = nullptr);

  void show_state(const OptionState& state) override;
  /// "ready", "needs rocm or zluda", ...; `look` as set_look() takes it.
  void show_note(const QString& note, const char* look, const QString& tip);
  /// The colour dot of a backend.
  void show_backend(const QString& name);
  [[nodiscard]] const std::string& choice() const noexcept { return choice_; }
  [[nodiscard]] QCheckBox* box() noexcept { return box_; }
  [[nodiscard]] QString note() const;
  [[nodiscard]] bool is_on(const OptionValue& value) const { return has_item(value, choice_); }

 protected:
  [[nodiscard]] QLabel* note_label() noexcept { return note_; }

 private:
  void set_choice(bool on);
  void paint_dot();

  std::string choice_;
  OptionState state_;
  QCheckBox* box_;
  QLabel* note_;
  QString backend_;
};

}  // namespace attn::ui
