// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/levers/levers_service.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace attn::ui {

class DiffView;
class FactTable;

/// Chooses settings by measurement within limits: what the choice is and why, who serves which call then, what would
/// have been faster and why it is not the choice; applied and undone.
class TuneDialog final : public QDialog {
  Q_OBJECT

 public:
  TuneDialog(LeversService& service, JobControl& jobs, const Theme& theme, QWidget* parent = nullptr);

  /// The variants that a choice may be made of.
  void offer(const QStringList& variants);

 private:
  void make_limits(QFormLayout* form);
  void make_result(QWidget* parent, const Theme& theme);
  void make_buttons();
  void run();
  void refresh();
  void show_result(const TuneFacts& tune);
  void say(const QString& text, const char* look);
  [[nodiscard]] TuneWish wish() const;

  LeversService& service_;
  JobControl& jobs_;
  QStringList variants_;
  QFormLayout* form_;
  QDoubleSpinBox* cosine_;
  QDoubleSpinBox* psnr_;
  QDoubleSpinBox* seconds_;
  QDoubleSpinBox* memory_;
  QComboBox* scope_;
  QCheckBox* keep_;
  QSpinBox* repeat_;
  QLabel* among_;
  QLabel* summary_;
  QProgressBar* bar_;
  QStackedWidget* stack_;
  DiffView* change_;
  FactTable* picks_;
  FactTable* refused_;
  QPushButton* run_;
  QPushButton* stop_;
  QPushButton* apply_;
  QPushButton* undo_;
};

}  // namespace attn::ui
