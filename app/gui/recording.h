// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace attn::app {

/// A short story in a real window of this process, as PNGs in `folder`: "0001-012.png" is the first frame, to be shown
/// for 12 hundredths of a second. `./dev recording` makes one moving picture of them. Needs a QApplication. Returns an
/// exit status.
[[nodiscard]] int record(const QString& folder, const QString& theme);

}  // namespace attn::app
