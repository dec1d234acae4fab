// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/value_rows.h"
#include "ui/sparse/exclusion_list.h"

class QLineEdit;
class QToolButton;

namespace attn::ui {

class FlowLayout;

/// The excluded models as chips, with a field that adds one by any of its names. Edits one text option.
class ExclusionsRow final : public ValueRow {
  Q_OBJECT

 public:
  ExclusionsRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);

  /// The models whose names are offered, and the loaded one, which may be null.
  void set_models(const std::vector<ModelNames>& models, const ModelNames* loaded);
  /// How many calls of the last run stayed dense for being excluded, and how many there were; 0 calls: no run.
  void set_counts(std::int64_t excluded, std::int64_t calls);

 private:
  void show_value(const OptionValue& value) override;
  void show_chips();
  void show_verdict();
  void add_typed();
  void remove(const QString& text);

  std::vector<ModelNames> models_;
  QString loaded_id_;
  std::int64_t excluded_ = 0;
  std::int64_t calls_ = 0;
  QString text_;
  std::vector<Exclusion> shown_;
  std::size_t most_shown_;
  FlowLayout* flow_;
  QLineEdit* add_;
  QToolButton* more_;
  QLabel* verdict_;
};

}  // namespace attn::ui
