// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace attn::ui {

/// What two runs differ by, always with its sign, so that no colour is needed to read it: "+1.2 s", "−88 ms", "−2.2
/// min", "±0".
[[nodiscard]] QString seconds_change(double then, double now);
/// "−12 %", "+4.5 %", "±0 %", "×12" where it is more than ten times as much; empty where nothing was before.
[[nodiscard]] QString relative_change(double then, double now);
/// Seconds in at most seven characters: "85.8 s", "4.3 min", "2.2 h".
[[nodiscard]] QString brief_seconds(double seconds);
/// "+456", "−12", "±0"
[[nodiscard]] QString count_change(qint64 then, qint64 now);
/// Shares as percentage points: "+3.1 pp", "±0"
[[nodiscard]] QString share_change(double then, double now);
/// "−1.2 s (−12 %)"; only the first part where there is no second.
[[nodiscard]] QString seconds_and_relative(double then, double now);

/// The relative part of it; where there is none, the whole. For where the whole has no room.
[[nodiscard]] QString brief_change(double then, double now);

}  // namespace attn::ui
