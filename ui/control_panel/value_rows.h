// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/option_row.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QSlider;

namespace attn::ui {

/// A row that edits one whole value.
class ValueRow : public OptionRow {
  Q_OBJECT

 public:
  void show_state(const OptionState& state) final;

 protected:
  ValueRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);
  virtual void show_value(const OptionValue& value) = 0;
  /// Sends a value to the engine; what is refused goes back to what was.
  void commit(OptionValue value);
  QLabel* add_label(QWidget* buddy);

  OptionState state_;
};

class BooleanRow final : public ValueRow {
  Q_OBJECT

 public:
  BooleanRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);

 private:
  void show_value(const OptionValue& value) override;
  QCheckBox* box_;
};

/// A spin box with a slider before it. While the slider is held only the number follows; the value is sent when it
/// is let go, so that dragging does not rebuild the chain a hundred times.
class NumberRow final : public ValueRow {
  Q_OBJECT

 public:
  NumberRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);

 signals:
  /// The value under the pointer while the slider is held.
  void dragged(double value);

 private:
  void show_value(const OptionValue& value) override;
  void send(double value);
  void show_range();  ///< ranges follow the target's memory

  QSlider* slider_;
  QDoubleSpinBox* spin_;
};

class ComboRow final : public ValueRow {
  Q_OBJECT

 public:
  ComboRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);

 private:
  void show_value(const OptionValue& value) override;
  QComboBox* combo_;
};

class TextRow final : public ValueRow {
  Q_OBJECT

 public:
  TextRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent);

 private:
  void show_value(const OptionValue& value) override;
  QLineEdit* edit_;
};

}  // namespace attn::ui
