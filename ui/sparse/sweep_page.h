// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"
#include "ui/sparse/sparse_context.h"
#include "ui/sparse/sweep_model.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace attn::ui {

class ElidedLabel;
class SweepPlot;

/// Error and time of the selected route against the budget, measured as a job on generated tensors: curves, and a
/// table beside them.
class SweepPage final : public QWidget {
  Q_OBJECT

 public:
  SweepPage(SparseContext& context, JobControl& jobs, const Theme& theme, QWidget* parent = nullptr);

  void run();
  [[nodiscard]] const SweepModel& model() const noexcept { return model_; }
  [[nodiscard]] SweepPlot& plot() noexcept { return *plot_; }
  /// For the title strip: "1×24×4608×128 · 9 of 19".
  [[nodiscard]] QString facts() const;

 signals:
  void facts_changed(const QString& facts);

 private:
  void make_table();
  void refresh();
  void show_state();

  SparseContext& context_;
  JobControl& jobs_;
  const Theme& theme_;
  SweepModel model_;
  QPushButton* run_;
  QPushButton* stop_;
  ElidedLabel* state_;
  QProgressBar* bar_;
  QLabel* notes_;
  QStackedWidget* stack_;
  SweepPlot* plot_;
  QTableView* table_;
  QString refused_;
};

}  // namespace attn::ui
