// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/filter/filter_field.h"

#include <QString>
#include <array>
#include <limits>

namespace attn::ui {

/// What a filter reads of one route or one call. Fields that are of another kind than asked hold nothing.
struct FilterRow {
  /// From the smallest to the largest value that the row has for a number; an unknown one fails every comparison.
  struct Span {
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
  };
  std::array<QString, kFilterFields> texts;  ///< case folded
  std::array<Span, kFilterFields> numbers;
  std::array<bool, kFilterFields> flags{};
  QString words;  ///< what free words look into, case folded

  void set_text(FilterField field, const QString& text) {
    texts[static_cast<std::size_t>(field)] = text.toCaseFolded();
  }
  void set_number(FilterField field, double low, double high) {
    numbers[static_cast<std::size_t>(field)] = {low, high};
  }
  void set_number(FilterField field, double value) { set_number(field, value, value); }
  void set_flag(FilterField field, bool flag) { flags[static_cast<std::size_t>(field)] = flag; }
};

/// Fields that calls of one kind differ in.
[[nodiscard]] constexpr bool varies_by_call(FilterField field) noexcept {
  return field == FilterField::step || field == FilterField::time || field == FilterField::kept ||
         field == FilterField::nan || field == FilterField::inf;
}

/// `share` is 0..1; `words` is what the row shows, for free words.
[[nodiscard]] FilterRow filter_row(const trace::RouteRow& route, double seconds, double share, const QString& words);
/// Of a kind of calls, without what varies_by_call().
[[nodiscard]] FilterRow filter_row(const trace::CallKind& kind, const QString& words);
/// Fills in what varies.
void take_call(FilterRow& row, const trace::CallRecord& call);

}  // namespace attn::ui
