// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/selection/selection.h"
#include "ui/sparse/sparse_context.h"
#include "ui/step_chart/step_plot.h"

#include <QWidget>

class QStackedWidget;

namespace attn::ui {

/// Time or calls per step, stacked by backend, with the budget that the sparse stage has in each step.
class StepChart final : public QWidget {
  Q_OBJECT

 public:
  StepChart(Selection& selection, const SparseContext& sparse, const Theme& theme, QWidget* parent = nullptr);
  void set_run(const trace::TraceSnapshot& run);
  /// The run to compare with, and what it is called; null: none.
  void set_baseline(const trace::TraceSnapshot* run, const QString& name);
  /// How many steps the run will have; 0: not known.
  void expect_steps(int steps);
  /// For the title strip: "time per step".
  [[nodiscard]] QString facts() const { return facts_; }
  [[nodiscard]] StepPlot& plot() noexcept { return *plot_; }

 signals:
  void facts_changed(const QString& facts);

 private:
  void show_selection();
  void show_baseline();
  void show_facts();
  void show_budgets();
  void choose(int bar);

  Selection& selection_;
  const SparseContext& sparse_;
  QString facts_;
  QStackedWidget* stack_;
  StepPlot* plot_;
  int expected_steps_ = 0;
  StepBars baseline_;
  QString baseline_name_;
};

}  // namespace attn::ui
