// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/step_chart/step_bars.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QStackedWidget;

namespace attn::ui {

/// The bars, painted. Hovering says what a bar holds.
class StepPlot final : public QWidget {
  Q_OBJECT

 public:
  StepPlot(const Theme& theme, QWidget* parent = nullptr);
  void set_bars(StepBars bars);
  void expect(std::size_t bars);
  [[nodiscard]] const StepBars& bars() const noexcept { return bars_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF plot_area() const;
  void paint_grid(QPainter& painter, const QRectF& plot) const;
  void paint_bar(QPainter& painter, const QRectF& plot, std::size_t at) const;
  void paint_names(QPainter& painter, const QRectF& plot) const;
  void paint_legend(QPainter& painter) const;
  [[nodiscard]] QString describe(const StepBar& bar) const;
  [[nodiscard]] QString value_text(double value) const;

  const Theme& theme_;
  StepBars bars_;
};

/// Time or calls per step, stacked by backend.
class StepChart final : public QWidget {
  Q_OBJECT

 public:
  StepChart(const Theme& theme, QWidget* parent = nullptr);
  void set_run(const trace::TraceSnapshot& run);
  /// How many steps the run will have; 0: not known.
  void expect_steps(int steps);
  /// For the title strip: "time per step".
  [[nodiscard]] QString facts() const { return facts_; }

 signals:
  void facts_changed(const QString& facts);

 private:
  QString facts_;
  QStackedWidget* stack_;
  StepPlot* plot_;
  int expected_steps_ = 0;
};

}  // namespace attn::ui
