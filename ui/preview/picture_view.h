// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QImage>
#include <QWidget>

namespace attn::ui {

/// Shows a picture, alone or against a baseline: the baseline left of a divider and the picture right of it, or their
/// difference. The divider is dragged, or moved with the arrow keys (1 %), Page Up and Down (10 %), Home and End.
class PictureView final : public QWidget {
  Q_OBJECT

 public:
  enum class Mode { picture, slider, difference };

  explicit PictureView(const Theme& theme, QWidget* parent = nullptr);

  void set_picture(const QImage& picture);
  void set_baseline(const QImage& baseline);
  /// `note` says how it is to be read: "× 8".
  void set_difference(const QImage& difference, const QString& note);
  void set_mode(Mode mode);
  /// Share of the width that the baseline has, 0 to 1.
  void set_divider(double share);

  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  [[nodiscard]] double divider() const noexcept { return divider_; }
  [[nodiscard]] const QImage& picture() const noexcept { return picture_; }
  [[nodiscard]] const QImage& baseline() const noexcept { return baseline_; }
  /// Where the picture is drawn.
  [[nodiscard]] QRect frame() const;
  [[nodiscard]] QSize sizeHint() const override { return {320, 320}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {160, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  [[nodiscard]] bool slides() const noexcept;
  void divide_at(double x);
  void draw_image(QPainter& painter, const QImage& image, const QRect& place) const;
  void draw_tag(QPainter& painter, const QString& text, bool right) const;
  void describe();

  const Theme& theme_;
  QImage picture_;
  QImage baseline_;
  QImage difference_;
  QString note_;
  Mode mode_ = Mode::picture;
  double divider_ = 0.5;
};

}  // namespace attn::ui
