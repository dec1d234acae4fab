// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QStyledItemDelegate>

namespace attn::ui {

/// A command in the palette: its menu dim, the letters that fit in the accent colour, its keys at the right, and why
/// it cannot be started.
class CommandDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  static constexpr int kHeight = 32;
  explicit CommandDelegate(const Theme& theme, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), theme_(theme) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const Theme& theme_;
};

/// Draws keys as caps that end at `right` and stand in the middle of `box`; "A or B" as two caps. Returns where the
/// leftmost cap begins.
int paint_key_caps(QPainter& painter, const Theme& theme, const QString& keys, const QRect& box, Ink ink = Ink::dim);
/// The width that paint_key_caps() needs.
[[nodiscard]] int key_caps_width(const Theme& theme, const QString& keys);

}  // namespace attn::ui
