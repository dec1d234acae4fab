// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/sparse/schedule.h"
#include "ui/theme/theme.h"

#include <QWidget>

namespace attn::ui {

/// The budget over the steps of a run: a stair with its two heights written on it. Hovering names a step's budget.
class SchedulePlot final : public QWidget {
  Q_OBJECT

 public:
  SchedulePlot(const Theme& theme, QWidget* parent = nullptr);

  /// `step` is marked; negative: none.
  void set_schedule(const BudgetSchedule& schedule, int steps, int step = -1);
  [[nodiscard]] const std::vector<double>& budgets() const noexcept { return budgets_; }
  [[nodiscard]] QSize sizeHint() const override { return {200, 54}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF plot_area() const;
  void paint_names(QPainter& painter, const QRectF& plot) const;

  const Theme& theme_;
  std::vector<double> budgets_;
  int step_ = -1;
};

/// "30 %", "37.5 %"
[[nodiscard]] QString percent_of(double share);

}  // namespace attn::ui
