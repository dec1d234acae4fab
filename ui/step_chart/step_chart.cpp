// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/step_chart/step_chart.h"

#include "ui/format/format.h"
#include "ui/panel/empty_state.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QStackedWidget>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr int kAxis = 62;
constexpr int kNames = 18;
constexpr int kLegend = 22;

/// 1, 2 or 5 times a power of ten that cuts `peak` into at most `parts`.
double tick_of(double peak, int parts) {
  if (peak <= 0.0) return 1.0;
  const double raw = peak / parts;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10.0 * power;
}

}  // namespace

StepPlot::StepPlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setMinimumHeight(84);
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StepPlot::set_bars(StepBars bars) {
  bars_ = std::move(bars);
  QStringList parts;
  for (const StepBar& bar : bars_.bars()) parts << describe(bar);
  setAccessibleName(tr("Per step"));
  setAccessibleDescription(parts.join("; "));
  update();
}

void StepPlot::expect(std::size_t bars) {
  bars_.expect(bars);
  update();
}

QString StepPlot::value_text(double value) const {
  return bars_.in_seconds() ? seconds_text(value) : counted(std::llround(value), tr("call"));
}

QString StepPlot::describe(const StepBar& bar) const {
  const QString name = bar.role == Role::transformer ? tr("step %1").arg(bar.step) : text_of(name_of(bar.role));
  QStringList parts;
  for (const StepBar::Part& part : bar.parts) parts << part.backend + ' ' + value_text(part.value);
  return name + ": " + parts.join(", ");
}

QRectF StepPlot::plot_area() const {
  return QRectF(kAxis, 10, std::max(1, width() - kAxis - 14), std::max(1, height() - 10 - kNames - kLegend));
}

void StepPlot::paintEvent(QPaintEvent*) {
  if (bars_.bars().empty()) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF plot = plot_area();
  paint_grid(painter, plot);
  for (std::size_t i = 0; i < bars_.bars().size(); ++i) paint_bar(painter, plot, i);
  paint_names(painter, plot);
  paint_legend(painter);
}

void StepPlot::paint_grid(QPainter& painter, const QRectF& plot) const {
  painter.setFont(theme_.small_font());
  double tick = tick_of(bars_.peak(), std::clamp(static_cast<int>(plot.height() / 26.0), 1, 5));
  if (tick > bars_.peak()) tick = bars_.peak();
  if (!bars_.in_seconds()) tick = std::max(1.0, tick);
  for (double value = 0.0; value <= bars_.peak() * 1.0001; value += tick) {
    const double y = plot.bottom() - value / bars_.peak() * plot.height();
    painter.setPen(QPen(theme_[Ink::line], 1.0));
    painter.drawLine(QPointF(plot.left(), std::round(y) + 0.5), QPointF(plot.right(), std::round(y) + 0.5));
    painter.setPen(theme_[Ink::dim]);
    const QString text = bars_.in_seconds() ? seconds_text(value) : count_text(std::llround(value));
    painter.drawText(QRectF(0, y - 9, kAxis - 8, 18), Qt::AlignRight | Qt::AlignVCenter, text);
  }
}

void StepPlot::paint_bar(QPainter& painter, const QRectF& plot, std::size_t at) const {
  const QRectF column = bars_.column(at, plot);
  double bottom = plot.bottom();
  painter.setPen(Qt::NoPen);
  for (const StepBar::Part& part : bars_.bars()[at].parts) {
    // What was called is seen, however small its share.
    const double height = std::max(1.5, part.value / bars_.peak() * plot.height());
    const QRectF box(column.left(), bottom - height, std::max(1.0, column.width()), height);
    painter.setBrush(theme_.backend(part.backend));
    painter.drawRect(box);
    if (part.backend.contains('+')) {
      painter.setBrush(QBrush(theme_[Ink::panel], Qt::BDiagPattern));
      painter.drawRect(box);
    }
    bottom -= height;
  }
}

void StepPlot::paint_names(QPainter& painter, const QRectF& plot) const {
  painter.setFont(theme_.small_font());
  painter.setPen(theme_[Ink::dim]);
  const QFontMetrics metrics(theme_.small_font());
  double free_from = 0.0;
  for (std::size_t i = 0; i < bars_.bars().size(); ++i) {
    const StepBar& bar = bars_.bars()[i];
    const QRectF column = bars_.column(i, plot);
    const QString name = bar.role == Role::transformer ? QString::number(bar.step) : text_of(name_of(bar.role));
    const double width = metrics.horizontalAdvance(name);
    const double left = std::min(column.center().x() - width / 2.0, plot.right() - width);
    if (left < free_from) continue;
    painter.drawText(QRectF(left, plot.bottom() + 2, width + 2, kNames), Qt::AlignLeft | Qt::AlignVCenter, name);
    free_from = left + width + 6.0;
  }
}

void StepPlot::paint_legend(QPainter& painter) const {
  painter.setFont(theme_.small_font());
  const QFontMetrics metrics(theme_.small_font());
  double x = kAxis;
  const double y = height() - kLegend;
  for (const QString& backend : bars_.backends()) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_.backend(backend));
    painter.drawRoundedRect(QRectF(x, y + 5, 10, 8), 1.5, 1.5);
    painter.setPen(theme_[Ink::dim]);
    painter.drawText(QRectF(x + 15, y, 200, 18), Qt::AlignLeft | Qt::AlignVCenter, backend);
    x += 15 + metrics.horizontalAdvance(backend) + 16;
  }
}

bool StepPlot::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int at = bars_.at(help->pos().x(), plot_area());
    if (at >= 0) {
      QToolTip::showText(help->globalPos(), describe(bars_.bars()[static_cast<std::size_t>(at)]), this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QWidget::event(event);
}

StepChart::StepChart(const Theme& theme, QWidget* parent) : QWidget(parent) {
  setObjectName("step_chart");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No steps yet"),
                                   tr("A run draws a bar for every denoising step, coloured by "
                                      "the backend that served it."),
                                   stack_));
  plot_ = new StepPlot(theme, stack_);
  stack_->addWidget(plot_);
  column->addWidget(stack_, 1);
}

void StepChart::expect_steps(int steps) {
  if (steps == expected_steps_) return;
  expected_steps_ = steps;
  plot_->expect(steps > 0 ? static_cast<std::size_t>(steps) + 2 : 0);  // and text encoders and VAE
}

void StepChart::set_run(const trace::TraceSnapshot& run) {
  StepBars bars(run);
  bars.expect(expected_steps_ > 0 ? static_cast<std::size_t>(expected_steps_) + 2 : 0);
  stack_->setCurrentIndex(bars.bars().empty() ? 0 : 1);
  facts_ = bars.bars().empty() ? QString() : (bars.in_seconds() ? tr("time per step") : tr("calls per step"));
  emit facts_changed(facts_);
  if (bars.bars() != plot_->bars().bars()) plot_->set_bars(std::move(bars));
}

}  // namespace attn::ui
