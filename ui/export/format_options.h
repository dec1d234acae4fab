// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/formats.h"

#include <QWidget>

class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;

namespace attn::ui {

class TargetList;

/// What a format wants to know beside the settings: only the rows that it uses are shown.
class FormatOptions final : public QWidget {
  Q_OBJECT

 public:
  enum class Way { write, read };
  /// So that fields above and below stand in one line.
  static constexpr int kLabelWidth = 92;
  static constexpr int kGap = 10;
  /// `targets` may be null where nothing is written.
  FormatOptions(Way way, const TargetList* targets, QWidget* parent = nullptr);

  /// Null: a format that nobody knows yet has no rows.
  void show_for(const ExchangeFormat* format);
  /// Steps of the workload, until somebody types others.
  void set_steps(int steps);
  [[nodiscard]] ExportOptions options() const;

 signals:
  void changed();

 private:
  void add(const QString& label, QWidget* field);

  Way way_;
  QFormLayout* rows_;
  QComboBox* form_;
  QSpinBox* steps_;
  QComboBox* spelling_ = nullptr;
  QComboBox* target_ = nullptr;
  QLineEdit* model_ = nullptr;
  bool steps_typed_ = false;
};

}  // namespace attn::ui
