// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/sparse/sparse_service.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QCPAxisRect;
class QCPGraph;
class QCPItemLine;
class QCPLegend;
class QCustomPlot;

namespace attn::ui {

/// Error and time against budget, side by side: the adaptive selection as a line with dots, the radial control dashed
/// with squares, the dense time as a level.
class SweepPlot final : public QWidget {
  Q_OBJECT

 public:
  SweepPlot(const Theme& theme, QWidget* parent = nullptr);

  void set_points(const std::vector<SweepPoint>& adaptive, const std::vector<SweepPoint>& radial, double dense_seconds);
  /// Points drawn in the error plot: (adaptive, radial).
  [[nodiscard]] std::pair<int, int> points() const;
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 90}; }

 private:
  struct Pane {
    QCPAxisRect* area = nullptr;
    QCPGraph* adaptive = nullptr;
    QCPGraph* radial = nullptr;
  };
  Pane make_pane(const QString& title);
  void paint_in_theme();
  void style(const Pane& pane);
  static void fit(const Pane& pane, double least_top);

  const Theme& theme_;
  QCustomPlot* plot_;
  Pane error_;
  Pane time_;
  QCPGraph* dense_;
  QCPLegend* legend_;
  std::vector<SweepPoint> adaptive_;
  std::vector<SweepPoint> radial_;
  double dense_seconds_ = 0.0;
};

}  // namespace attn::ui
