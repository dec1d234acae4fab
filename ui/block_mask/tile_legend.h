// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/block_mask/tile_map.h"
#include "ui/theme/theme.h"

#include <QWidget>

namespace attn::ui {

/// Swatch and name of each kind of tile that a map holds.
class TileLegend final : public QWidget {
  Q_OBJECT

 public:
  TileLegend(const Theme& theme, QWidget* parent = nullptr);
  void show_kinds(std::vector<TileKind> kinds);
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override { return {200, heightForWidth(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Item {
    TileKind kind;
    QRect place;
  };
  [[nodiscard]] std::vector<Item> items(int width) const;

  const Theme& theme_;
  std::vector<TileKind> kinds_;
};

}  // namespace attn::ui
