// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/sweep_plot.h"

#include "ui/theme/plot_axis.h"

#include <qcustomplot.h>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

SweepPlot::SweepPlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName("sweep_plot");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  plot_ = new QCustomPlot(this);
  plot_->setNoAntialiasingOnDrag(true);
  plot_->setAutoAddPlottableToLegend(false);
  plot_->setAccessibleName(tr("Error and time against budget"));
  column->addWidget(plot_);
  plot_->plotLayout()->clear();
  auto* panes = new QCPLayoutGrid;
  panes->setColumnSpacing(4);
  error_ = make_pane(tr("relative L1"));
  time_ = make_pane(tr("seconds"));
  panes->addElement(0, 0, error_.area);
  panes->addElement(0, 1, time_.area);
  legend_ = new QCPLegend;
  legend_->setFillOrder(QCPLegend::foColumnsFirst);
  legend_->setMargins(QMargins(10, 0, 10, 0));
  plot_->plotLayout()->setRowSpacing(0);
  plot_->plotLayout()->addElement(0, 0, legend_);
  plot_->plotLayout()->addElement(1, 0, panes);
  plot_->plotLayout()->setRowStretchFactor(0, 0.001);
  error_.adaptive->setName(tr("adaptive"));
  error_.radial->setName(tr("radial"));
  dense_ = plot_->addGraph(time_.area->axis(QCPAxis::atBottom), time_.area->axis(QCPAxis::atLeft));
  dense_->setName(tr("dense"));
  for (QCPGraph* graph : {error_.adaptive, error_.radial, dense_})
    legend_->addItem(new QCPPlottableLegendItem(legend_, graph));
  connect(&theme_, &Theme::changed, this, &SweepPlot::paint_in_theme);
  paint_in_theme();
  fit(error_, 0.1);
  fit(time_, 1.0);
}

SweepPlot::Pane SweepPlot::make_pane(const QString& title) {
  Pane pane;
  pane.area = new QCPAxisRect(plot_, true);
  pane.area->setMinimumMargins(QMargins(6, 6, 6, 2));
  QCPAxis* x = pane.area->axis(QCPAxis::atBottom);
  QCPAxis* y = pane.area->axis(QCPAxis::atLeft);
  for (QCPAxis* axis : {x, y}) {
    axis->setLayer(QStringLiteral("axes"));
    axis->grid()->setLayer(QStringLiteral("grid"));
    axis->setLabelPadding(2);
    axis->setTickLabelPadding(3);
    axis->ticker()->setTickCount(4);
  }
  x->setRange(0, 104);
  x->setLabel(tr("keep %"));
  y->setLabel(title);
  pane.adaptive = plot_->addGraph(x, y);
  pane.radial = plot_->addGraph(x, y);
  return pane;
}

void SweepPlot::style(const Pane& pane) {
  for (QCPAxis* axis : pane.area->axes()) style_axis(axis, theme_);
  const QColor adaptive = theme_[Ink::accent];
  const QColor radial = theme_.backend(u"flex");
  pane.adaptive->setPen(QPen(adaptive, 2.0));
  pane.adaptive->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, adaptive, 6));
  pane.radial->setPen(QPen(radial, 1.5, Qt::DashLine));
  pane.radial->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssSquare, radial, 5));
}

void SweepPlot::paint_in_theme() {
  plot_->setBackground(QBrush(theme_[Ink::panel]));
  style(error_);
  style(time_);
  dense_->setPen(QPen(theme_[Ink::dim], 1.25, Qt::DotLine));
  QColor ground = theme_[Ink::panel];
  ground.setAlphaF(0.85F);
  legend_->setBrush(ground);
  legend_->setBorderPen(Qt::NoPen);
  legend_->setFont(theme_.small_font());
  legend_->setTextColor(theme_[Ink::dim]);
  legend_->setIconSize(20, 10);
  legend_->setRowSpacing(0);
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

void SweepPlot::fit(const Pane& pane, double least_top) {
  double top = 0.0;
  for (const QCPGraph* graph : {pane.adaptive, pane.radial}) {
    for (const QCPGraphData& point : *graph->data()) top = std::max(top, point.value);
  }
  pane.area->axis(QCPAxis::atLeft)->setRange(0.0, (top > 0.0 ? top : least_top) * 1.08);
}

void SweepPlot::set_points(const std::vector<SweepPoint>& adaptive, const std::vector<SweepPoint>& radial,
                           double dense_seconds) {
  if (adaptive == adaptive_ && radial == radial_ && dense_seconds == dense_seconds_) return;
  adaptive_ = adaptive;
  radial_ = radial;
  dense_seconds_ = dense_seconds;
  const auto fill = [](QCPGraph* graph, const std::vector<SweepPoint>& points, double SweepPoint::*value) {
    graph->data()->clear();
    for (const SweepPoint& point : points) graph->addData(point.budget * 100.0, point.*value);
  };
  fill(error_.adaptive, adaptive, &SweepPoint::relative_l1);
  fill(error_.radial, radial, &SweepPoint::relative_l1);
  fill(time_.adaptive, adaptive, &SweepPoint::seconds);
  fill(time_.radial, radial, &SweepPoint::seconds);
  dense_->data()->clear();
  if (dense_seconds > 0.0) {
    dense_->addData(0.0, dense_seconds);
    dense_->addData(104.0, dense_seconds);
  }
  fit(error_, 0.1);
  fit(time_, std::max(dense_seconds, 1e-6));
  QCPAxis* seconds = time_.area->axis(QCPAxis::atLeft);
  seconds->setRange(0.0, std::max(seconds->range().upper, dense_seconds * 1.12));
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

std::pair<int, int> SweepPlot::points() const { return {error_.adaptive->dataCount(), error_.radial->dataCount()}; }

}  // namespace attn::ui
