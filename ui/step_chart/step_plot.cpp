// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/step_chart/step_plot.h"

#include "ui/format/change_text.h"
#include "ui/format/format.h"
#include "ui/timeline/backend_legend.h"
#include "ui/timeline/ticks.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr int kAxis = 62;
constexpr int kNames = 18;
constexpr int kLegend = 22;

QString kept_text(double budget) { return QStringLiteral("%1 %").arg(std::lround(budget * 100.0)); }

}  // namespace

StepPlot::StepPlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setMinimumHeight(84);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Per step"));
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void StepPlot::set_bars(StepBars bars) {
  bars_ = std::move(bars);
  describe_all();
  update();
}

void StepPlot::describe_all() {
  const auto at = static_cast<std::size_t>(selected_);
  if (selected_ >= 0 && at < bars_.bars().size()) {
    setAccessibleDescription(tr("selected %1").arg(describe(bars_.bars()[at])));
    return;
  }
  QStringList parts;
  for (const StepBar& bar : bars_.bars()) parts << describe(bar);
  setAccessibleDescription(parts.join("; "));
}

void StepPlot::expect(std::size_t bars) {
  bars_.expect(bars);
  update();
}

void StepPlot::set_baseline(StepBars bars, const QString& name) {
  baseline_ = std::move(bars);
  baseline_name_ = name;
  describe_all();
  update();
}

double StepPlot::peak() const noexcept { return std::max(bars_.peak(), baseline_.peak()); }
double StepPlot::top() const noexcept { return peak() * 1.06; }

double StepPlot::then_of(const StepBar& bar) const {
  const int at = baseline_.find(bar.role, bar.step);
  return at < 0 ? 0.0 : baseline_.bars()[static_cast<std::size_t>(at)].total;
}

void StepPlot::set_budgets(std::vector<double> budgets) {
  if (budgets == budgets_) return;
  budgets_ = std::move(budgets);
  update();
}

void StepPlot::set_selected(int bar) {
  if (bar == selected_) return;
  selected_ = bar;
  describe_all();
  update();
}

QString StepPlot::value_text(double value) const {
  if (!bars_.in_seconds()) return counted(std::llround(value), tr("call"));
  return (bars_.scaled() ? QStringLiteral("≈ ") : QString()) + seconds_text(value);
}

QString StepPlot::describe(const StepBar& bar) const {
  const QString name = bar.role == Role::transformer ? tr("step %1").arg(bar.step) : text_of(name_of(bar.role));
  QStringList parts;
  for (const StepBar::Part& part : bar.parts) parts << part.backend + ' ' + value_text(part.value);
  const QString kept = bar.budget > 0.0 ? tr(", sparse keeps %1").arg(kept_text(bar.budget)) : QString();
  const QString now = name + ": " + parts.join(", ") + kept;
  if (!has_baseline()) return now;
  const double then = then_of(bar);
  if (then <= 0.0) return now + tr("; not in the baseline %1").arg(baseline_name_);
  const QString change = bars_.in_seconds() ? seconds_and_relative(then, bar.total)
                                            : count_change(std::llround(then), std::llround(bar.total));
  return now + tr("; baseline %1: %2, now %3").arg(baseline_name_, value_text(then), change);
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
  paint_selected(painter, plot);
  for (std::size_t i = 0; i < bars_.bars().size(); ++i) paint_bar(painter, plot, i);
  paint_missing(painter, plot);
  paint_baseline(painter, plot);
  paint_budget(painter, plot);
  paint_names(painter, plot);
  paint_legend(painter, theme_, bars_.backends(), QPointF(kAxis, height() - kLegend), width());
  paint_key(painter);
}

void StepPlot::paint_baseline(QPainter& painter, const QRectF& plot) const {
  if (!has_baseline()) return;
  const double half_gap = (bars_.column(1, plot).left() - bars_.column(0, plot).right()) / 2.0;
  // A line of its own for each run of bars that the baseline has: a gap says that it had none there.
  std::vector<QPolygonF> lines(1);
  for (std::size_t i = 0; i < bars_.bars().size(); ++i) {
    const double then = then_of(bars_.bars()[i]);
    if (then <= 0.0) {
      if (!lines.back().isEmpty()) lines.emplace_back();
      continue;
    }
    const QRectF column = bars_.column(i, plot).adjusted(-half_gap, 0, half_gap, 0);
    const double y = std::round(plot.bottom() - then / top() * plot.height()) + 0.5;
    lines.back() << QPointF(column.left(), y) << QPointF(column.right(), y);
  }
  painter.setBrush(Qt::NoBrush);
  for (const auto& [ink, width] : {std::pair{Ink::panel, 4.5}, std::pair{Ink::text, 1.5}}) {
    painter.setPen(QPen(theme_[ink], width, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    for (const QPolygonF& line : lines) painter.drawPolyline(line);
  }
}

void StepPlot::paint_key(QPainter& painter) const {
  if (!has_baseline()) return;
  const QString text = tr("line: baseline %1").arg(baseline_name_);
  painter.setFont(theme_.small_font());
  const QFontMetrics metrics(theme_.small_font());
  const double left = width() - 14 - metrics.horizontalAdvance(text);
  const double middle = height() - kLegend / 2.0;
  painter.setPen(QPen(theme_[Ink::text], 1.5));
  painter.drawLine(QPointF(left - 24, middle), QPointF(left - 6, middle));
  painter.setPen(theme_[Ink::dim]);
  painter.drawText(QRectF(left, height() - kLegend, width() - left, kLegend), Qt::AlignVCenter | Qt::AlignLeft, text);
}

void StepPlot::paint_grid(QPainter& painter, const QRectF& plot) const {
  painter.setFont(theme_.small_font());
  double tick = tick_size(peak(), std::clamp(static_cast<int>(plot.height() / 26.0), 1, 5));
  if (tick > peak()) tick = peak();
  if (!bars_.in_seconds()) tick = std::max(1.0, tick);
  for (double value = 0.0; value <= peak() * 1.0001; value += tick) {
    const double y = plot.bottom() - value / top() * plot.height();
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
    const double height = std::max(1.5, part.value / top() * plot.height());
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

void StepPlot::paint_missing(QPainter& painter, const QRectF& plot) const {
  if (bars_.missing() == 0 || bars_.column(0, plot).width() < 4.0) return;
  painter.setPen(QPen(theme_[Ink::line], 1.0, Qt::DotLine));
  painter.setBrush(Qt::NoBrush);
  const std::size_t first = bars_.bars().size();
  for (std::size_t i = first; i < first + bars_.missing(); ++i) {
    painter.drawRect(bars_.column(i, plot).adjusted(0.5, plot.height() * 0.55, -0.5, -0.5));
  }
}

void StepPlot::paint_selected(QPainter& painter, const QRectF& plot) const {
  if (selected_ < 0 || selected_ >= static_cast<int>(bars_.bars().size())) return;
  const QRectF column = bars_.column(static_cast<std::size_t>(selected_), plot).adjusted(-3, -4, 3, 0);
  painter.fillRect(column, theme_[Ink::selection]);
  painter.fillRect(QRectF(column.left(), plot.bottom() + 1.0, column.width(), 2.0), theme_[Ink::accent]);
}

double StepPlot::budget_at(std::size_t column, std::size_t first) const {
  if (column < bars_.bars().size() && bars_.bars()[column].budget > 0.0) return bars_.bars()[column].budget;
  const std::size_t step = column - first;
  return step < budgets_.size() ? budgets_[step] : 0.0;
}

void StepPlot::paint_budget(QPainter& painter, const QRectF& plot) const {
  const auto is_step = [](const StepBar& bar) { return bar.role == Role::transformer; };
  const auto& bars = bars_.bars();
  const auto first = static_cast<std::size_t>(std::find_if(bars.begin(), bars.end(), is_step) - bars.begin());
  const auto served = static_cast<std::size_t>(std::count_if(bars.begin(), bars.end(), is_step));
  const std::size_t end = first + std::max(served, std::min(budgets_.size(), served + bars_.missing()));
  painter.setFont(theme_.small_font());
  const QFontMetrics metrics(theme_.small_font());
  const double half_gap = (bars_.column(1, plot).left() - bars_.column(0, plot).right()) / 2.0;
  struct Label {
    QRectF box;
    QString text;
  };
  std::vector<Label> labels;
  QPolygonF stair;
  for (std::size_t at = first; at < end;) {
    const double budget = budget_at(at, first);
    std::size_t next = at + 1;
    while (next < end && budget_at(next, first) == budget) ++next;
    if (budget > 0.0) {
      const double y = std::round(plot.bottom() - budget * plot.height()) + 0.5;
      const double left = bars_.column(at, plot).left() - half_gap;
      const double right = bars_.column(next - 1, plot).right() + half_gap;
      stair << QPointF(left, y) << QPointF(right, y);
      const QString text = (right - left > 90.0 ? tr("budget %1") : QStringLiteral("%1")).arg(kept_text(budget));
      const double width = metrics.horizontalAdvance(text) + 8.0;
      const double x = std::clamp((left + right) / 2.0 - width / 2.0, plot.left(), plot.right() - width);
      const QRectF box(x, y - metrics.height() - 2.0, width, metrics.height());
      labels.push_back({box, text});
    }
    at = next;
  }
  // It has to be seen on bars of any colour.
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_[Ink::panel], 5.0, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
  painter.drawPolyline(stair);
  painter.setPen(QPen(theme_[Ink::accent], 1.75, Qt::DashLine, Qt::FlatCap, Qt::MiterJoin));
  painter.drawPolyline(stair);
  for (const Label& label : labels) {
    painter.fillRect(label.box, theme_[Ink::panel]);
    painter.drawText(label.box, Qt::AlignCenter, label.text);
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

void StepPlot::mousePressEvent(QMouseEvent* event) {
  const int at = bars_.at(event->position().x(), plot_area());
  if (event->button() != Qt::LeftButton || at < 0) {
    QWidget::mousePressEvent(event);
    return;
  }
  emit chosen(at);
}

void StepPlot::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(bars_.bars().size()) - 1;
  int to = -1;
  if (event->key() == Qt::Key_Left) to = selected_ < 0 ? last : std::max(0, selected_ - 1);
  if (event->key() == Qt::Key_Right) to = selected_ < 0 ? 0 : std::min(last, selected_ + 1);
  if (event->key() == Qt::Key_Home) to = 0;
  if (event->key() == Qt::Key_End) to = last;
  if (last < 0 || to < 0 || (event->modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) {
    QWidget::keyPressEvent(event);
    return;
  }
  emit chosen(to);
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

}  // namespace attn::ui
