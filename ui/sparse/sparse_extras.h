// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/sparse/sparse_context.h"
#include "ui/theme/theme.h"

#include <QObject>
#include <optional>

class QLabel;

namespace attn::ui {

class ExclusionsRow;
class SchedulePlot;

/// What the control panel shows between the rows of the sparse stage's options: what the stage served, what a budget
/// means for the route at hand, the budget over the steps, and which model is loaded.
class SparseExtras final : public QObject {
  Q_OBJECT

 public:
  SparseExtras(SparseContext& context, const Theme& theme, QWidget* parent);

  /// "Sparse is on but served 0 of 1 609 calls: ..." above the rows; hidden while the stage is off or nothing ran.
  [[nodiscard]] QWidget* headline() const;
  /// "keep 30 % (skip 70 %) · density 0.39 at 4 608 tokens" under the budget.
  [[nodiscard]] QWidget* density() const;
  /// The stair of budgets under the schedule's options.
  [[nodiscard]] QWidget* schedule() const;
  void serve(ExclusionsRow* row);

  /// The budget under the pointer while its slider is held, in percent.
  void preview_budget(double percent);

 private:
  void refresh();
  void show_headline();
  void show_density();
  void show_schedule();
  [[nodiscard]] SparseOptions options() const;

  SparseContext& context_;
  const Theme& theme_;
  QLabel* headline_;
  QLabel* density_;
  SchedulePlot* schedule_;
  ExclusionsRow* exclusions_ = nullptr;
  std::optional<double> preview_;
};

/// "keep 30 % (skip 70 %)"
[[nodiscard]] QString keep_text(double share);

}  // namespace attn::ui
