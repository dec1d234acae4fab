// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QLabel>

namespace attn::ui {

/// A label of wrapped text that can be selected; without a look it is plain text.
inline QLabel* text_line(const char* name, const char* look, QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  if (*look != '\0') set_look(label, look);
  return label;
}

}  // namespace attn::ui
