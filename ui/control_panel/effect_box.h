// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/effect_watch.h"
#include "ui/theme/theme.h"

#include <QFrame>

class QLabel;

namespace attn::ui {

/// What the pending edits would do to the last run, over the options. Gone while nothing is pending.
class EffectBox final : public QFrame {
  Q_OBJECT

 public:
  EffectBox(EngineLink& link, const Theme& theme, QWidget* parent = nullptr);
  [[nodiscard]] EffectWatch& watch() noexcept { return watch_; }

 private:
  void refresh();
  [[nodiscard]] QString moves_html(const Effect& effect) const;

  EngineLink& link_;
  const Theme& theme_;
  EffectWatch watch_;
  QLabel* edits_;
  QLabel* moves_;
  QLabel* memory_;
};

}  // namespace attn::ui
