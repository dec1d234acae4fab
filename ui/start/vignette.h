// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/start/examples.h"
#include "ui/theme/theme.h"

#include <QWidget>

namespace attn::ui {

/// A small drawing of what an example is about. It says nothing that the words beside it do not.
class Vignette final : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 76;
  Vignette(Example::Show show, const Theme& theme, QWidget* parent);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_picture(QPainter& painter, const QRectF& box) const;
  void paint_fallback(QPainter& painter, const QRectF& box) const;
  void paint_tiles(QPainter& painter, const QRectF& box) const;

  Example::Show show_;
  const Theme& theme_;
};

}  // namespace attn::ui
