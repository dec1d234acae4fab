// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/block_mask/tile_map.h"
#include "ui/theme/theme.h"

#include <QImage>
#include <QWidget>

namespace attn::ui {

/// Colour and hatch of a kind: never the colour alone.
[[nodiscard]] QColor color_of(TileKind kind, const Theme& theme);
[[nodiscard]] Qt::BrushStyle hatch_of(TileKind kind);
/// A swatch of colour and hatch, for legends.
void paint_swatch(QPainter& painter, const QRectF& box, TileKind kind, const Theme& theme);

/// A map of tiles, queries downward and keys to the right, to the scale of tokens. The wheel and + and - zoom at the
/// pointer or the middle, 0 fits, dragging and the arrows move.
class TileView final : public QWidget {
  Q_OBJECT

 public:
  TileView(const Theme& theme, QWidget* parent = nullptr);

  /// Keeps zoom and place while the sequence stays as long.
  void set_map(TileMap map);
  void show_head(int batch, int head);
  [[nodiscard]] const TileMap& map() const noexcept { return map_; }
  [[nodiscard]] int head() const noexcept { return head_; }

  void zoom_in() { zoom(1.5, map_area().center()); }
  void zoom_out() { zoom(1.0 / 1.5, map_area().center()); }
  void fit();
  /// 1: the whole map is in view.
  [[nodiscard]] double zoom_factor() const;
  /// What the tooltip says at a place of the widget; empty beside the map.
  [[nodiscard]] QString text_at(const QPointF& at) const;
  /// The whole map with its axes and a legend, whatever the zoom.
  [[nodiscard]] QImage picture(const QString& title) const;
  /// Kinds that the map holds, in the order of a legend.
  [[nodiscard]] std::vector<TileKind> kinds_shown() const;
  [[nodiscard]] QSize sizeHint() const override { return {320, 320}; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override { return width; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {160, 130}; }

 signals:
  void zoomed(double factor);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Where the map lies: pixels per token, and the place of token (0, 0).
  struct Frame {
    double scale = 1.0;
    QPointF origin;
  };
  [[nodiscard]] QRectF map_area() const;
  [[nodiscard]] double fit_scale() const;
  [[nodiscard]] Frame frame() const;
  void rebuild();
  void zoom(double factor, const QPointF& at);
  void move_to(const QPointF& offset);
  void paint_tiles(QPainter& painter, const QRectF& area, const Frame& frame) const;
  void paint_hatches(QPainter& painter, const QRectF& area, const Frame& frame) const;
  void paint_grid(QPainter& painter, const QRectF& area, const Frame& frame) const;
  void paint_spans(QPainter& painter, const QRectF& area, const Frame& frame) const;
  [[nodiscard]] QRectF tile_box(const Frame& frame, std::int64_t row, std::int64_t first, std::int64_t last) const;

  const Theme& theme_;
  TileMap map_;
  int batch_ = 0;
  int head_ = 0;
  std::vector<TileKind> kinds_;
  std::vector<float> share_;
  QImage image_;        ///< a pixel per tile
  double scale_ = 0.0;  ///< pixels per token; 0: fits
  QPointF offset_;      ///< tokens at the map area's top left
  QPointF grabbed_;
};

}  // namespace attn::ui
