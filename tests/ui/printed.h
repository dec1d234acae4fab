// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemModel>
#include <QStringList>

namespace attn::test {

/// A flat model as lines of text, cells apart by " | ", so that a failure reads like a diff.
inline QStringList printed(const QAbstractItemModel& model, QList<int> columns = {}) {
  if (columns.isEmpty()) {
    for (int column = 0; column < model.columnCount(); ++column) columns << column;
  }
  QStringList lines;
  for (int row = 0; row < model.rowCount(); ++row) {
    QStringList cells;
    for (const int column : columns) cells << model.index(row, column).data().toString();
    lines << cells.join(" | ");
  }
  return lines;
}

}  // namespace attn::test
