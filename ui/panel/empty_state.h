// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QLabel>
#include <QVBoxLayout>

namespace attn::ui {

/// What an empty panel says: what it would show, and what to do for it.
class EmptyState final : public QWidget {
 public:
  EmptyState(const QString& headline, const QString& advice, QWidget* parent = nullptr) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 16, 24, 16);
    column->setSpacing(4);
    column->addStretch(2);
    for (auto [text, look] : {std::pair{headline, "title"}, std::pair{advice, "dim"}}) {
      auto* label = new QLabel(text, this);
      label->setAlignment(Qt::AlignHCenter | Qt::AlignVCenter);
      label->setWordWrap(true);
      set_look(label, look);
      column->addWidget(label);
    }
    column->addStretch(3);
    setAccessibleName(headline);
    setAccessibleDescription(advice);
  }
};

}  // namespace attn::ui
