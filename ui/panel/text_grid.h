// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QWidget>
#include <vector>

namespace attn::ui {

/// A piece of text in a grid.
struct GridCell {
  QString text;
  Ink ink = Ink::text;
  bool bold = false;
  Qt::Alignment align = Qt::AlignLeft;
  friend bool operator==(const GridCell&, const GridCell&) = default;
};

/// Cells from the left. In a row of fewer cells than the grid has columns each is as wide as its text, and the last one
/// takes what is left.
using GridRow = std::vector<GridCell>;

/// A column: as wide as its texts within `least`, or a share of what the others leave.
struct GridColumn {
  int least = 0;
  bool stretches = false;
};

/// Wrapped text in rows and columns, painted. A record of a hundred cells takes less time this way than three labels
/// that can be selected. The context menu copies the row under the pointer, or all rows.
class TextGrid : public QWidget {
  Q_OBJECT

 public:
  TextGrid(std::vector<GridColumn> columns, const Theme& theme, QWidget* parent = nullptr);

  void set_rows(std::vector<GridRow> rows);
  [[nodiscard]] const std::vector<GridRow>& rows() const noexcept { return rows_; }
  /// Lines of cells with a blank between two.
  [[nodiscard]] QString text() const;

  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

  const Theme& theme_;

 private:
  struct Placed {
    QRect at;
    const GridCell* cell = nullptr;
    std::size_t row = 0;
  };
  struct Placement {
    int width = -1;
    int height = 0;
    std::vector<Placed> cells;
  };
  [[nodiscard]] const Placement& placed(int width) const;
  void fit();
  [[nodiscard]] std::vector<int> widths(int width) const;
  [[nodiscard]] QFont font_of(const GridCell& cell) const;

  std::vector<GridColumn> columns_;
  std::vector<GridRow> rows_;
  mutable Placement placement_;  ///< for the width asked for last
};

}  // namespace attn::ui
