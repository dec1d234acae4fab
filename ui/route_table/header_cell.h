// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCoreApplication>
#include <QVariant>

namespace attn::ui {

/// What a horizontal header says of a column: title, tip and alignment, from its row of a list of columns. `context`
/// is the translation's.
template <class Spec>
[[nodiscard]] QVariant header_cell(const char* context, const Spec& spec, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return QCoreApplication::translate(context, spec.title);
    case Qt::ToolTipRole:
      return QCoreApplication::translate(context, spec.tip);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((spec.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace attn::ui
