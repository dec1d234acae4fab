// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/format/change_text.h"

#include "ui/format/format.h"

#include <cmath>

namespace attn::ui {

namespace {

const QString kSame = QStringLiteral("±0");

QString sign_of(double change) { return change < 0.0 ? QString(QChar(0x2212)) : QStringLiteral("+"); }

}  // namespace

QString brief_seconds(double seconds) {
  // Nobody asks for the seconds of an hour.
  if (seconds < 99.95) return seconds_text(seconds);
  return seconds < 3600.0 ? QStringLiteral("%1 min").arg(seconds / 60.0, 0, 'f', 1)
                          : QStringLiteral("%1 h").arg(seconds / 3600.0, 0, 'f', 1);
}

QString seconds_change(double then, double now) {
  const double change = now - then;
  // Below a microsecond the text would be a sign and nothing behind it.
  return std::abs(change) < 5e-7 ? kSame : sign_of(change) + brief_seconds(std::abs(change));
}

QString relative_change(double then, double now) {
  if (!(then > 0.0)) return {};
  if (now > 10.0 * then) return QStringLiteral("×%1").arg(now / then, 0, 'f', 0);
  const double percent = (now / then - 1.0) * 100.0;
  if (std::abs(percent) < 0.05) return kSame + QStringLiteral(" %");
  return sign_of(percent) + QStringLiteral("%1 %").arg(std::abs(percent), 0, 'f', std::abs(percent) < 9.95 ? 1 : 0);
}

QString count_change(qint64 then, qint64 now) {
  if (then == now) return kSame;
  return now > then ? '+' + count_text(now - then) : count_text(now - then);
}

QString share_change(double then, double now) {
  const double points = (now - then) * 100.0;
  if (std::abs(points) < 0.05) return kSame;
  return sign_of(points) + QStringLiteral("%1 pp").arg(std::abs(points), 0, 'f', 1);
}

QString seconds_and_relative(double then, double now) {
  const QString change = seconds_change(then, now);
  const QString relative = relative_change(then, now);
  return relative.isEmpty() || change == kSame ? change : QStringLiteral("%1 (%2)").arg(change, relative);
}

QString brief_change(double then, double now) {
  const QString change = seconds_change(then, now);
  const QString relative = relative_change(then, now);
  return relative.isEmpty() || change == kSame ? change : relative;
}

}  // namespace attn::ui
