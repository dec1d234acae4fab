// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/schedule_plot.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr int kAxis = 14;  ///< height of the line with the step numbers

}  // namespace

QString percent_of(double share) {
  const double percent = share * 100.0;
  const bool whole = std::abs(percent - std::round(percent)) < 0.05;
  return QStringLiteral("%1 %").arg(percent, 0, 'f', whole ? 0 : 1);
}

SchedulePlot::SchedulePlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName("schedule_plot");
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Budget over the steps"));
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void SchedulePlot::set_schedule(const BudgetSchedule& schedule, int steps, int step) {
  std::vector<double> budgets = schedule.table(steps);
  if (budgets == budgets_ && step == step_) return;
  budgets_ = std::move(budgets);
  step_ = step;
  QStringList parts;
  for (std::size_t i = 0; i < budgets_.size();) {
    std::size_t end = i;
    while (end < budgets_.size() && budgets_[end] == budgets_[i]) ++end;
    parts << tr("steps %1 to %2: %3").arg(i).arg(end - 1).arg(percent_of(budgets_[i]));
    i = end;
  }
  setAccessibleDescription(parts.join(", "));
  update();
}

QRectF SchedulePlot::plot_area() const {
  const QFontMetrics metrics(theme_.small_font());
  const double top = metrics.height() + 2.0;
  return QRectF(26, top, std::max(1, width() - 26 - 14), std::max(1.0, height() - top - kAxis - 2.0));
}

void SchedulePlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(theme_.small_font());
  const QRectF plot = plot_area();
  if (budgets_.empty()) {
    painter.setPen(theme_[Ink::dim]);
    painter.drawText(plot, Qt::AlignCenter, tr("the number of steps is not known"));
    return;
  }
  const double pitch = plot.width() / static_cast<double>(budgets_.size());
  const auto y_of = [&](double budget) { return plot.bottom() - std::clamp(budget, 0.0, 1.0) * plot.height(); };
  QPolygonF stair;
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    stair << QPointF(plot.left() + pitch * static_cast<double>(i), y_of(budgets_[i]))
          << QPointF(plot.left() + pitch * static_cast<double>(i + 1), y_of(budgets_[i]));
  }
  QPolygonF ground = stair;
  ground << plot.bottomRight() << plot.bottomLeft();
  QColor fill = theme_[Ink::accent];
  fill.setAlphaF(0.14F);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  painter.drawPolygon(ground);
  painter.setPen(QPen(theme_[Ink::line], 1.0));
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setPen(QPen(theme_[Ink::accent], 1.75, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(stair);
  paint_names(painter, plot);
  if (step_ < 0 || step_ >= static_cast<int>(budgets_.size())) return;
  painter.setPen(QPen(theme_[Ink::panel], 1.5));
  painter.setBrush(theme_[Ink::pending]);
  painter.drawEllipse(QPointF(plot.left() + pitch * (step_ + 0.5), y_of(budgets_[static_cast<std::size_t>(step_)])), 4,
                      4);
}

void SchedulePlot::paint_names(QPainter& painter, const QRectF& plot) const {
  const double pitch = plot.width() / static_cast<double>(budgets_.size());
  painter.setPen(theme_[Ink::dim]);
  const QFontMetrics metrics(theme_.small_font());
  double free_from = 0.0;
  for (std::size_t i = 0; i < budgets_.size();) {
    std::size_t end = i;
    while (end < budgets_.size() && budgets_[end] == budgets_[i]) ++end;
    const QString text = percent_of(budgets_[i]);
    const double width = metrics.horizontalAdvance(text);
    const double middle = plot.left() + pitch * static_cast<double>(i + end) / 2.0;
    const double left = std::clamp(middle - width / 2.0, plot.left(), plot.right() - width);
    const double y = plot.bottom() - std::clamp(budgets_[i], 0.0, 1.0) * plot.height();
    if (left >= free_from) {
      painter.drawText(QRectF(left, y - metrics.height() - 1.0, width + 2.0, metrics.height()), Qt::AlignCenter, text);
      free_from = left + width + 4.0;
    }
    i = end;
  }
  const QRectF axis(plot.left(), plot.bottom() + 1.0, plot.width(), kAxis);
  painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, tr("step 0"));
  painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, QString::number(budgets_.size() - 1));
}

bool SchedulePlot::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || budgets_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QRectF plot = plot_area();
  const auto count = static_cast<double>(budgets_.size());
  const auto step =
      static_cast<int>(std::clamp((help->pos().x() - plot.left()) / plot.width() * count, 0.0, count - 1.0));
  QToolTip::showText(help->globalPos(),
                     tr("step %1: keep %2").arg(step).arg(percent_of(budgets_[static_cast<std::size_t>(step)])), this);
  return true;
}

}  // namespace attn::ui
