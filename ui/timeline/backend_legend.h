// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QPainter>
#include <QWidget>
#include <vector>

namespace attn::ui {

/// Paints a patch and a name for each backend, from `at` to the right as far as `right`; what has no room is left out.
inline void paint_legend(QPainter& painter, const Theme& theme, const std::vector<QString>& backends, QPointF at,
                         double right) {
  painter.setFont(theme.small_font());
  const QFontMetrics metrics(theme.small_font());
  double x = at.x();
  for (const QString& backend : backends) {
    const double width = 15 + metrics.horizontalAdvance(backend);
    if (x + width > right) break;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.backend(backend));
    const QRectF patch(x, at.y() + 5, 10, 8);
    painter.drawRoundedRect(patch, 1.5, 1.5);
    if (backend.contains('+')) {
      painter.setBrush(QBrush(theme[Ink::panel], Qt::BDiagPattern));
      painter.drawRoundedRect(patch, 1.5, 1.5);
    }
    painter.setPen(theme[Ink::dim]);
    painter.drawText(QRectF(x + 15, at.y(), width, 18), Qt::AlignLeft | Qt::AlignVCenter, backend);
    x += width + 16;
  }
}

/// The legend as a widget that takes what room there is.
class BackendLegend final : public QWidget {
 public:
  BackendLegend(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFixedHeight(20);
    connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
  }
  void set_backends(std::vector<QString> backends) {
    if (backends == backends_) return;
    backends_ = std::move(backends);
    QStringList names;
    for (const QString& backend : backends_) names << backend;
    setAccessibleName(tr("Backends: %1").arg(names.join(", ")));
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    paint_legend(painter, theme_, backends_, {6.0, 1.0}, width());
  }

 private:
  const Theme& theme_;
  std::vector<QString> backends_;
};

}  // namespace attn::ui
