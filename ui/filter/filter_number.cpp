// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_number.h"

#include <array>
#include <cmath>
#include <limits>

namespace attn::ui {

namespace {

struct Suffix {
  const char16_t* text;
  FieldUnit unit;
  double factor;
};

// Longer ones first, so that "ms" is not read as "s".
constexpr std::array<Suffix, 10> kSuffixes{{{u"min", FieldUnit::seconds, 60.0},
                                            {u"ns", FieldUnit::seconds, 1e-9},
                                            {u"us", FieldUnit::seconds, 1e-6},
                                            {u"\u00b5s", FieldUnit::seconds, 1e-6},
                                            {u"ms", FieldUnit::seconds, 1e-3},
                                            {u"s", FieldUnit::seconds, 1.0},
                                            {u"%", FieldUnit::percent, 0.01},
                                            {u"%", FieldUnit::none, 0.01},
                                            {u"k", FieldUnit::none, 1e3},
                                            {u"M", FieldUnit::none, 1e6}}};

}  // namespace

std::optional<double> number_of(QStringView text, FieldUnit unit) {
  double factor = unit == FieldUnit::percent ? 0.01 : 1.0;
  for (const Suffix& suffix : kSuffixes) {
    const QStringView written(suffix.text);
    if (suffix.unit != unit || !text.endsWith(written)) continue;
    factor = suffix.factor;
    text.chop(written.size());
    break;
  }
  if (text.isEmpty() || !(text.front().isDigit() || text.front() == u'.' || text.front() == u'-')) return std::nullopt;
  bool read = false;
  const double value = text.trimmed().toDouble(&read);
  if (!read || !std::isfinite(value)) return std::nullopt;
  return value * factor;
}

std::optional<FilterTerm::Range> range_of(QStringView text, FieldUnit unit) {
  const qsizetype dots = text.indexOf(QLatin1String(".."));
  if (dots < 0) {
    const std::optional<double> value = number_of(text, unit);
    return value ? std::optional(FilterTerm::Range{*value, *value}) : std::nullopt;
  }
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const QStringView first = text.first(dots);
  const QStringView last = text.sliced(dots + 2);
  if (first.isEmpty() && last.isEmpty()) return std::nullopt;
  const std::optional<double> low = first.isEmpty() ? -kEndless : number_of(first, unit);
  const std::optional<double> high = last.isEmpty() ? kEndless : number_of(last, unit);
  if (!low || !high || *low > *high) return std::nullopt;
  return FilterTerm::Range{*low, *high};
}

}  // namespace attn::ui
