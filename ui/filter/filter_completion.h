// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter_field.h"

#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

namespace attn::ui {

/// What could stand where the cursor is: `texts` replace `length` characters from `at`.
struct FilterCompletion {
  struct Choice {
    QString text;  ///< what is written: "role:", "vae", "\"key padding\""
    QString help;
  };
  qsizetype at = 0;
  qsizetype length = 0;
  std::vector<Choice> choices;
};

/// Values of a field that occur, most useful first.
using ValuesOf = std::function<QStringList(FilterField)>;

/// Names of fields at the start of a word, and after a field's comparison the values that occur. Nothing inside a
/// quoted text, and nothing that is written already.
[[nodiscard]] FilterCompletion complete_filter(const QString& line, qsizetype cursor, const ValuesOf& values);

}  // namespace attn::ui
