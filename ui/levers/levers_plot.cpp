// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/levers/levers_plot.h"

#include "ui/format/format.h"
#include "ui/theme/plot_axis.h"

#include <qcustomplot.h>

#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr double kReach = 12.0;  ///< pixels within which a mark is meant

/// Quality that grows upward; nullopt: equal to the exact result.
std::optional<double> quality_of(const LeverFact& row, bool draws) {
  if (draws) {
    const double psnr = row.psnr.value_or(0.0);
    return std::isinf(psnr) ? std::nullopt : std::optional(psnr);
  }
  return row.relative_l1 > 0.0 ? std::optional(-std::log10(row.relative_l1)) : std::nullopt;
}

}  // namespace

LeversPlot::LeversPlot(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName("levers_plot");
  setAccessibleName(tr("Time against quality of the measured variants"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  plot_ = new QCustomPlot(this);
  plot_->setMouseTracking(true);
  plot_->installEventFilter(this);
  plot_->axisRect()->setMinimumMargins(QMargins(6, 8, 10, 4));
  plot_->xAxis->setLabel(tr("time, share of exact attention's"));
  column->addWidget(plot_);
  connect(&theme_, &Theme::changed, this, &LeversPlot::rebuild);
  rebuild();
}

QColor LeversPlot::color_of(const LeverFact& row) const {
  // "backend:sage", "sparse:flex:30", "option:sdnq:KEY=VALUE"
  const QString second = row.name.section(':', 1, 1);
  for (const std::string_view backend : Colors::backends()) {
    if (second == text_of(backend)) return theme_.backend(second);
  }
  return row.group == "baseline" ? theme_[Ink::text] : theme_[Ink::dim];
}

void LeversPlot::set_rows(const std::vector<LeverFact>& rows, bool draws) {
  rows_ = rows;
  draws_ = draws;
  rebuild();
}

void LeversPlot::rebuild() {
  points_.clear();
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const LeverFact& row : rows_) {
    if (row.state != LeverFact::State::measured) continue;
    const std::optional<double> quality = quality_of(row, draws_);
    if (quality) {
      least = std::min(least, *quality);
      most = std::max(most, *quality);
    }
  }
  if (!(least <= most)) {
    least = draws_ ? 20.0 : 0.0;
    most = draws_ ? 40.0 : 3.0;
  }
  const double step = std::max((most - least) * 0.18, draws_ ? 3.0 : 0.4);
  const double exact = most + step;
  for (const LeverFact& row : rows_) {
    if (row.state != LeverFact::State::measured) continue;
    points_.push_back(
        {row.name, row.relative_time, quality_of(row, draws_).value_or(exact), row.on_front, color_of(row)});
  }
  set_axes(least - step * 0.6, most, exact);
  draw_points();
  draw_names();
  paint_in_theme();
}

void LeversPlot::set_axes(double least, double most, double exact) {
  double slowest = 1.0;
  for (const Point& point : points_) slowest = std::max(slowest, point.x);
  plot_->xAxis->setRange(0.0, slowest * 1.12);
  plot_->yAxis->setRange(least, exact + (exact - most) * 0.6);
  plot_->yAxis->setLabel(draws_ ? tr("PSNR, dB") : tr("relative L1"));
  const QSharedPointer<QCPAxisTickerText> ticks(new QCPAxisTickerText);
  if (draws_) {
    const double range = most - least;
    const double stride = range > 40.0 ? 20.0 : range > 16.0 ? 10.0 : range > 6.0 ? 5.0 : 2.0;
    for (double at = std::ceil(least / stride) * stride; at <= most; at += stride)
      ticks->addTick(at, QString::number(at));
  } else {
    // As many powers of ten as can be read.
    const double shown = std::max(1.0, plot_->axisRect()->height() / 18.0);
    const int stride = std::max(1, static_cast<int>(std::ceil((exact - least) / shown)));
    for (int power = static_cast<int>(std::ceil(least)); power <= static_cast<int>(std::floor(most)); power += stride) {
      ticks->addTick(power, power == 0 ? QStringLiteral("1") : QStringLiteral("1e-%1").arg(power));
    }
  }
  ticks->addTick(exact, tr("equal"));
  plot_->yAxis->setTicker(ticks);
}

void LeversPlot::draw_points() {
  plot_->clearGraphs();
  front_ = plot_->addGraph();
  for (const Point& point : points_) {
    if (point.on_front) front_->addData(point.x, point.y);
  }
  front_->setPen(QPen(theme_[Ink::accent], 1.5));
  ring_ = plot_->addGraph();
  ring_->setLineStyle(QCPGraph::lsNone);
  ring_->setScatterStyle(
      QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(theme_[Ink::accent], 2.0), QBrush(Qt::NoBrush), 15));
  for (const Point& point : points_) {
    if (point.name == selected_) ring_->addData(point.x, point.y);
    QCPGraph* mark = plot_->addGraph();
    mark->setLineStyle(QCPGraph::lsNone);
    const QColor ground = point.on_front ? point.color : theme_[Ink::panel];
    mark->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(point.color, 1.6), QBrush(ground), 8));
    mark->addData(point.x, point.y);
  }
}

QPointF LeversPlot::pixel_of(const Point& point) const {
  return {plot_->xAxis->coordToPixel(point.x), plot_->yAxis->coordToPixel(point.y)};
}

void LeversPlot::draw_names() {
  plot_->clearItems();
  constexpr double kAway = 9.0;
  const QFontMetricsF metrics(theme_.small_font());
  const QRectF area(plot_->axisRect()->rect());
  std::vector<QRectF> taken;
  for (const Point& point : points_) taken.emplace_back(pixel_of(point) - QPointF(5, 5), QSizeF(10, 10));
  // Names of the selected one and of the front, wherever beside the mark there is room; where there is none, none.
  for (const bool chosen : {true, false}) {
    for (const Point& point : points_) {
      const bool selected = point.name == selected_;
      if (selected != chosen || (!selected && !point.on_front)) continue;
      const QSizeF size(metrics.horizontalAdvance(point.name) + 4.0, metrics.height());
      const QPointF at = pixel_of(point);
      const QPointF places[] = {{at.x() + kAway, at.y() - size.height() / 2.0},
                                {at.x() - kAway - size.width(), at.y() - size.height() / 2.0},
                                {at.x() - size.width() / 2.0, at.y() - kAway - size.height()},
                                {at.x() - size.width() / 2.0, at.y() + kAway}};
      for (const QPointF& place : places) {
        const QRectF box(place, size);
        const auto hits = [&box](const QRectF& other) { return other.intersects(box); };
        if (!area.contains(box) || std::any_of(taken.begin(), taken.end(), hits)) continue;
        taken.push_back(box);
        auto* name = new QCPItemText(plot_);
        name->setText(point.name);
        name->setFont(theme_.small_font());
        name->setColor(theme_[selected ? Ink::text : Ink::dim]);
        name->position->setType(QCPItemPosition::ptAbsolute);
        name->position->setCoords(box.center());
        break;
      }
    }
  }
}

void LeversPlot::paint_in_theme() {
  plot_->setBackground(QBrush(theme_[Ink::panel]));
  for (QCPAxis* axis : {plot_->xAxis, plot_->yAxis}) {
    style_axis(axis, theme_);
    axis->setLabelPadding(2);
  }
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

void LeversPlot::select(const QString& name) {
  if (name == selected_) return;
  selected_ = name;
  rebuild();
}

QPointF LeversPlot::place_of(const QString& name) const {
  for (const Point& point : points_) {
    if (point.name == name) return plot_->mapTo(this, pixel_of(point));
  }
  return {};
}

const LeversPlot::Point* LeversPlot::nearest(QPointF at) const {
  const Point* best = nullptr;
  double reach = kReach;
  for (const Point& point : points_) {
    const double away =
        std::hypot(plot_->xAxis->coordToPixel(point.x) - at.x(), plot_->yAxis->coordToPixel(point.y) - at.y());
    if (away > reach) continue;
    reach = away;
    best = &point;
  }
  return best;
}

bool LeversPlot::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    QMetaObject::invokeMethod(this, &LeversPlot::rebuild, Qt::QueuedConnection);
  }
  if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseMove) {
    auto* mouse = static_cast<QMouseEvent*>(event);
    const Point* point = nearest(mouse->position());
    plot_->setCursor(point != nullptr ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (point != nullptr && event->type() == QEvent::MouseButtonPress) {
      emit chosen(QString(point->name));
    } else if (point != nullptr) {
      QToolTip::showText(mouse->globalPosition().toPoint(), point->name, plot_);
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace attn::ui
