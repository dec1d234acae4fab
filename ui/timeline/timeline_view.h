// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/selection/selection.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lanes.h"

#include <QWidget>

namespace attn::ui {

/// A lane for each role with its calls, coloured by backend. Wheel and W, S zoom, dragging and A, D move, F fits, comma
/// and point go from call to call in the lane that has the focus, up and down change the lane. While a job runs the end
/// is followed until the person looks elsewhere.
class TimelineView final : public QWidget {
  Q_OBJECT

 public:
  TimelineView(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  void set_calls(const trace::CallView& calls);
  void set_axis(TimelineAxis axis);
  /// While a job runs a line marks its newest call.
  void set_running(bool running);
  [[nodiscard]] const Lanes& lanes() const noexcept { return lanes_; }
  [[nodiscard]] const TimeMap& map() const noexcept { return map_; }
  [[nodiscard]] bool follows() const noexcept { return follows_; }
  [[nodiscard]] int focused_lane() const noexcept { return focused_; }
  /// Where a lane's calls are drawn.
  [[nodiscard]] QRectF lane_box(std::size_t lane) const;
  void fit();
  void follow();
  void zoom(double factor);
  /// Selects the next or the previous call of the focused lane.
  void go(int calls);

 signals:
  void follow_changed(bool follows);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paint_steps(QPainter& painter);
  void paint_axis(QPainter& painter);
  void paint_lane(QPainter& painter, std::size_t lane);
  void paint_mark(QPainter& painter, const LaneMark& mark, const QRectF& box);
  void paint_selection(QPainter& painter);
  void paint_now(QPainter& painter);
  void moved();
  void focus_lane(int lane);
  void choose(std::size_t lane, std::size_t place);
  void show_selection();
  void describe();
  [[nodiscard]] std::vector<bool> kinds_of_route() const;
  [[nodiscard]] int lane_at(double y) const;
  [[nodiscard]] QString text_of_mark(std::size_t lane, std::size_t place) const;
  [[nodiscard]] QString axis_text(double at) const;

  Selection& selection_;
  const Theme& theme_;
  Lanes lanes_;
  TimeMap map_;
  std::vector<LaneMark> marks_;     ///< kept for its memory
  std::vector<bool> bright_kinds_;  ///< of the selected route; empty: none is selected
  int focused_ = 0;
  bool follows_ = true;
  bool running_ = false;
  std::optional<QPointF> pressed_;  ///< where a drag began
  double dragged_from_ = 0.0;
  bool dragging_ = false;
};

}  // namespace attn::ui
