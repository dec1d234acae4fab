// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <algorithm>
#include <cmath>

namespace attn::ui {

/// 1, 2 or 5 times a power of ten that cuts `span` into at most `parts`.
[[nodiscard]] inline double tick_size(double span, int parts) {
  if (span <= 0.0) return 1.0;
  const double raw = span / std::max(1, parts);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10.0 * power;
}

/// A moment with as many digits as tell it from its neighbours in a part of `span` seconds: "1.250 s", "350 µs".
[[nodiscard]] inline QString precise_seconds(double seconds, double span) {
  struct Unit {
    double factor;
    const char16_t* name;
  };
  const Unit unit = span >= 1.0 || seconds >= 10.0 ? Unit{1.0, u"s"}
                    : span >= 1e-3                 ? Unit{1e3, u"ms"}
                                                   : Unit{1e6, u"µs"};
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(span * unit.factor / 10.0))), 0, 6);
  return QStringLiteral("%1 %2").arg(seconds * unit.factor, 0, 'f', digits).arg(QString::fromUtf16(unit.name));
}

}  // namespace attn::ui
