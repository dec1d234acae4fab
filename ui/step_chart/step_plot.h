// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/step_chart/step_bars.h"
#include "ui/theme/theme.h"

#include <QWidget>

namespace attn::ui {

/// The bars, painted, with the budget over them. Hovering says what a bar holds; a click or the arrow keys choose one.
class StepPlot final : public QWidget {
  Q_OBJECT

 public:
  StepPlot(const Theme& theme, QWidget* parent = nullptr);
  void set_bars(StepBars bars);
  void expect(std::size_t bars);
  /// The bars of the run to compare with, drawn as an outline; none: there is no such run, or its unit is another.
  void set_baseline(StepBars bars, const QString& name);
  [[nodiscard]] bool has_baseline() const noexcept { return baseline_.peak() > 0.0; }
  /// What the sparse stage will keep in each step of the transformer; empty: there is no stage.
  void set_budgets(std::vector<double> budgets);
  /// The bar that is selected; -1: none.
  void set_selected(int bar);
  [[nodiscard]] const StepBars& bars() const noexcept { return bars_; }
  [[nodiscard]] int selected() const noexcept { return selected_; }
  /// Where the bars stand.
  [[nodiscard]] QRectF plot_area() const;
  /// What a bar holds, in words, and what it had in the baseline.
  [[nodiscard]] QString describe(const StepBar& bar) const;

 signals:
  void chosen(int bar);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paint_grid(QPainter& painter, const QRectF& plot) const;
  void paint_bar(QPainter& painter, const QRectF& plot, std::size_t at) const;
  void paint_missing(QPainter& painter, const QRectF& plot) const;
  void paint_selected(QPainter& painter, const QRectF& plot) const;
  void paint_budget(QPainter& painter, const QRectF& plot) const;
  void paint_names(QPainter& painter, const QRectF& plot) const;
  /// The budget of a column, from the run where it has one; 0: none.
  [[nodiscard]] double budget_at(std::size_t column, std::size_t first) const;
  void paint_baseline(QPainter& painter, const QRectF& plot) const;
  void paint_key(QPainter& painter) const;
  [[nodiscard]] double peak() const noexcept;
  /// What the upper edge stands for: a little more than the highest bar, which would look cut off there.
  [[nodiscard]] double top() const noexcept;
  /// What a bar was in the baseline; 0: it had none.
  [[nodiscard]] double then_of(const StepBar& bar) const;
  [[nodiscard]] QString value_text(double value) const;
  void describe_all();

  const Theme& theme_;
  StepBars bars_;
  StepBars baseline_;
  QString baseline_name_;
  std::vector<double> budgets_;
  int selected_ = -1;
};

}  // namespace attn::ui
