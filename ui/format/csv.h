// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>

namespace attn::ui {

/// A line of CSV (RFC 4180) with its end: quotes around cells that need them.
inline QString csv_line(const QStringList& cells) {
  QStringList written;
  for (QString cell : cells) {
    const bool quotes = cell.contains(',') || cell.contains('"') || cell.contains('\n') || cell.contains('\r');
    written << (quotes ? '"' + cell.replace('"', QStringLiteral("\"\"")) + '"' : cell);
  }
  return written.join(',') + QStringLiteral("\r\n");
}

}  // namespace attn::ui
