// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/constraints.h"
#include "ui/theme/theme.h"

#include <QFrame>
#include <vector>

namespace attn::ui {

/// What one backend (or the sparse stage) says about a call: who, the outcome, and each check with its numbers.
struct Card {
  QString name;
  QString backend;  ///< for the colour; empty: the dim one
  QString outcome;  ///< "declined", "serves"
  const char* look = "dim";
  std::vector<Verdict> checks;
  QString sentence;  ///< instead of or after the checks
};

class VerdictCard final : public QFrame {
  Q_OBJECT

 public:
  VerdictCard(const Card& card, const Theme& theme, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QString backend_;
};

}  // namespace attn::ui
