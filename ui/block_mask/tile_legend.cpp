// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/tile_legend.h"

#include "ui/block_mask/tile_view.h"

#include <QPainter>

namespace attn::ui {

namespace {

constexpr int kLine = 18;
constexpr int kSwatch = 14;

}  // namespace

TileLegend::TileLegend(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void TileLegend::show_kinds(std::vector<TileKind> kinds) {
  if (kinds == kinds_) return;
  kinds_ = std::move(kinds);
  QStringList names;
  for (const TileKind kind : kinds_) names << name_of(kind);
  setAccessibleName(tr("Legend: %1").arg(names.join(", ")));
  updateGeometry();
  update();
}

std::vector<TileLegend::Item> TileLegend::items(int width) const {
  const QFontMetrics metrics(theme_.small_font());
  std::vector<Item> items;
  int x = 0;
  int y = 0;
  for (const TileKind kind : kinds_) {
    const int wide = kSwatch + 6 + metrics.horizontalAdvance(name_of(kind)) + 2;
    if (x > 0 && x + wide > width) {
      x = 0;
      y += kLine;
    }
    items.push_back({kind, QRect(x, y, wide, kLine)});
    x += wide + 12;
  }
  return items;
}

int TileLegend::heightForWidth(int width) const {
  const std::vector<Item> all = items(width > 0 ? width : 300);
  return all.empty() ? kLine : all.back().place.bottom() + 1;
}

void TileLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(theme_.small_font());
  for (const Item& item : items(width())) {
    paint_swatch(painter, QRectF(item.place.left() + 0.5, item.place.top() + 3.5, kSwatch, 10), item.kind, theme_);
    painter.setPen(theme_[Ink::dim]);
    painter.drawText(item.place.adjusted(kSwatch + 6, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, name_of(item.kind));
  }
}

}  // namespace attn::ui
