// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter.h"

#include <QString>
#include <optional>
#include <vector>

namespace attn::ui {

/// What is wrong with a filter line, where, and what would be right. The place lies inside the line.
struct FilterError {
  qsizetype at = 0;
  qsizetype length = 0;
  QString sentence;
};

/// A part of the line that stands for a field and its comparison, for colouring.
struct FilterMark {
  qsizetype at = 0;
  qsizetype length = 0;
};

struct ParsedFilter {
  Filter filter;  ///< of a line without error
  std::optional<FilterError> error;
  std::vector<FilterMark> marks;
};

/// Reads a filter line. Any text is legal input.
///
///     line  = group { "OR" group }              OR may be written |
///     group = { [ "-" ] item }                  side by side: all of them
///     item  = "(" line ")" | field op values | word | "quoted text"
///     op    = ":" | "=" | "!=" | "<" | "<=" | ">" | ">="
///     values = value { "," value }              any of them; numbers may be ranges: 3..12, 3.., ..12
///
/// `:` on a text asks for a word that begins so, `=` for the whole text. Numbers take k and M, times us, ms, s and min
/// (seconds when bare), shares percent.
[[nodiscard]] ParsedFilter parse_filter(const QString& line);

/// The term that asks for a value in a field, as a person would write it: backend=sdnq+sparse, mask="key padding".
[[nodiscard]] QString written_term(FilterField field, const QString& value);

}  // namespace attn::ui
