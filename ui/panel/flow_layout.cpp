// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/flow_layout.h"

#include <algorithm>

namespace attn::ui {

FlowLayout::FlowLayout(int horizontal_gap, int vertical_gap)
    : horizontal_gap_(horizontal_gap), vertical_gap_(vertical_gap) {
  setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout() { qDeleteAll(items_); }

QLayoutItem* FlowLayout::takeAt(int index) {
  return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  }
  const QMargins margins = contentsMargins();
  return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  arrange(rect, true);
}

int FlowLayout::arrange(const QRect& rect, bool move) const {
  const QRect inner = rect.marginsRemoved(contentsMargins());
  int x = inner.left();
  int y = inner.top();
  int line_height = 0;
  for (QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    const QSize size = item->sizeHint();
    if (x > inner.left() && x + size.width() > inner.right() + 1) {
      x = inner.left();
      y += line_height + vertical_gap_;
      line_height = 0;
    }
    if (move) item->setGeometry(QRect(QPoint(x, y), size));
    x += size.width() + horizontal_gap_;
    line_height = std::max(line_height, size.height());
  }
  return y + line_height - rect.top() + contentsMargins().bottom();
}

}  // namespace attn::ui
