// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/constraints.h"
#include "ui/panel/text_grid.h"

#include <vector>

namespace attn::ui {

/// What one backend (or the sparse stage) says about a call: who, the outcome, and each check with its numbers.
struct Card {
  QString name;
  QString backend;  ///< for the colour; empty: the dim one
  QString outcome;  ///< "declined", "serves"
  Ink ink = Ink::dim;
  std::vector<Verdict> checks;
  QString sentence;  ///< instead of or after the checks
};

class VerdictCard final : public TextGrid {
  Q_OBJECT

 public:
  explicit VerdictCard(const Theme& theme, QWidget* parent = nullptr);

  void set_card(const Card& card);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString backend_;
};

}  // namespace attn::ui
