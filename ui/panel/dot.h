// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QPainter>
#include <QWidget>

namespace attn::ui {

/// A backend's colour as a dot. Never alone: the name stands beside it.
class Dot final : public QWidget {
 public:
  Dot(const Theme& theme, QString backend, QWidget* parent = nullptr)
      : QWidget(parent), theme_(theme), backend_(std::move(backend)) {
    setFixedSize(8, 17);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_.backend(backend_));
    painter.drawEllipse(QRectF(0, (height() - 8) / 2.0, 8, 8));
  }

 private:
  const Theme& theme_;
  QString backend_;
};

}  // namespace attn::ui
