// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

class QWidget;

namespace attn::ui {

/// What the program is, that it tells nobody anything, and under which licences it and its parts are.
[[nodiscard]] QString about_text();
/// Shows it; not modal.
void show_about(QWidget* window);

}  // namespace attn::ui
