// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/text_grid.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QPainter>
#include <QResizeEvent>
#include <algorithm>
#include <utility>

namespace attn::ui {

namespace {

constexpr int kBetweenColumns = 8;
constexpr int kBetweenRows = 2;
constexpr int kHuge = 1 << 20;

QString line_of(const GridRow& row) {
  QStringList cells;
  for (const GridCell& cell : row) cells << cell.text;
  return cells.join(' ');
}

}  // namespace

TextGrid::TextGrid(std::vector<GridColumn> columns, const Theme& theme, QWidget* parent)
    : QWidget(parent), theme_(theme), columns_(std::move(columns)) {
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void TextGrid::set_rows(std::vector<GridRow> rows) {
  if (rows == rows_) return;
  rows_ = std::move(rows);
  placement_.width = -1;
  fit();
  updateGeometry();
  update();
}

/// A layout that is short of room may not take it from the text.
void TextGrid::fit() {
  if (width() > 0) setMinimumHeight(heightForWidth(width()));
}

void TextGrid::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) fit();
}

QString TextGrid::text() const {
  QStringList lines;
  for (const GridRow& row : rows_) lines << line_of(row);
  return lines.join('\n');
}

QFont TextGrid::font_of(const GridCell& cell) const {
  QFont made = font();
  if (cell.bold) made.setWeight(QFont::DemiBold);
  return made;
}

std::vector<int> TextGrid::widths(int width) const {
  const int gaps = kBetweenColumns * (static_cast<int>(columns_.size()) - 1);
  int left = width - gaps;
  int stretching = 0;
  std::vector<int> all(columns_.size(), 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].stretches) {
      ++stretching;
      continue;
    }
    int natural = columns_[c].least;
    for (const GridRow& row : rows_) {
      if (row.size() < columns_.size()) continue;
      natural = std::max(natural, QFontMetrics(font_of(row[c])).horizontalAdvance(row[c].text) + 1);
    }
    // A name may not push its value out of sight.
    all[c] = std::max(columns_[c].least, std::min(natural, width * 2 / 5));
    left -= all[c];
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].stretches) all[c] = std::max(left / std::max(stretching, 1), 24);
  }
  return all;
}

const TextGrid::Placement& TextGrid::placed(int width) const {
  if (placement_.width == width) return placement_;
  placement_ = {width, 0, {}};
  const QMargins margins = contentsMargins();
  const int inner = std::max(width - margins.left() - margins.right(), 24);
  const std::vector<int> columns = widths(inner);
  int y = margins.top();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const GridRow& row = rows_[r];
    const bool short_row = row.size() < columns.size();
    int x = margins.left();
    int height = 0;
    for (std::size_t c = 0; c < row.size() && c < columns.size(); ++c) {
      const QFontMetrics metrics(font_of(row[c]));
      int wide = short_row ? metrics.horizontalAdvance(row[c].text) + 1 : columns[c];
      if (c + 1 == row.size()) wide = margins.left() + inner - x;
      const QRect box = metrics.boundingRect(QRect(0, 0, wide, kHuge),
                                             static_cast<int>(row[c].align) | Qt::TextWordWrap, row[c].text);
      placement_.cells.push_back({QRect(x, y, wide, box.height()), &row[c], r});
      height = std::max(height, box.height());
      x += wide + kBetweenColumns;
    }
    y += height + kBetweenRows;
  }
  placement_.height = (rows_.empty() ? y : y - kBetweenRows) + margins.bottom();
  return placement_;
}

int TextGrid::heightForWidth(int width) const { return placed(width).height; }

QSize TextGrid::sizeHint() const {
  const int wide = width() > 0 && isVisible() ? width() : 300;
  return {wide, placed(wide).height};
}

QSize TextGrid::minimumSizeHint() const { return {120, fontMetrics().height()}; }

void TextGrid::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  for (const Placed& one : placed(width()).cells) {
    if (!one.at.intersects(event->rect())) continue;
    painter.setFont(font_of(*one.cell));
    painter.setPen(theme_[one.cell->ink]);
    painter.drawText(one.at, static_cast<int>(one.cell->align | Qt::AlignTop) | Qt::TextWordWrap, one.cell->text);
  }
}

void TextGrid::contextMenuEvent(QContextMenuEvent* event) {
  QString line;
  for (const Placed& one : placed(width()).cells) {
    if (event->pos().y() >= one.at.top() && event->pos().y() <= one.at.bottom()) line = line_of(rows_[one.row]);
  }
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (!line.isEmpty()) {
    menu->addAction(tr("Copy this line"), this, [line] { QGuiApplication::clipboard()->setText(line); });
  }
  menu->addAction(tr("Copy these lines"), this, [all = text()] { QGuiApplication::clipboard()->setText(all); });
  menu->popup(event->globalPos());
}

void TextGrid::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
    placement_.width = -1;
    fit();
    updateGeometry();
  }
  QWidget::changeEvent(event);
}

}  // namespace attn::ui
