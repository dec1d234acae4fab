// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/levers/levers_service.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QCPGraph;
class QCPItemText;
class QCustomPlot;

namespace attn::ui {

/// Time against quality: a mark for each measured variant in its backend's colour, the Pareto front as a line. To the
/// left is faster, up is closer to the exact result: PSNR for pictures, else relative L1 on a logarithmic axis; equal
/// results stand on a line of their own at the top.
class LeversPlot final : public QWidget {
  Q_OBJECT

 public:
  LeversPlot(const Theme& theme, QWidget* parent = nullptr);

  void set_rows(const std::vector<LeverFact>& rows, bool draws);
  /// Rings a variant; an empty name rings none.
  void select(const QString& name);
  /// Where a variant is drawn, in this widget; a null point where it is not.
  [[nodiscard]] QPointF place_of(const QString& name) const;
  [[nodiscard]] int points() const noexcept { return static_cast<int>(points_.size()); }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 140}; }

 signals:
  void chosen(const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Point {
    QString name;
    double x = 0.0;
    double y = 0.0;
    bool on_front = false;
    QColor color;
  };
  [[nodiscard]] QColor color_of(const LeverFact& row) const;
  [[nodiscard]] QPointF pixel_of(const Point& point) const;
  [[nodiscard]] const Point* nearest(QPointF at) const;
  void rebuild();
  void draw_points();
  void draw_names();
  void set_axes(double least, double most, double exact);
  void paint_in_theme();

  const Theme& theme_;
  QCustomPlot* plot_;
  QCPGraph* front_ = nullptr;
  QCPGraph* ring_ = nullptr;
  std::vector<LeverFact> rows_;
  std::vector<Point> points_;
  QString selected_;
  bool draws_ = false;
};

}  // namespace attn::ui
