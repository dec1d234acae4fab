// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/engine_link.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QComboBox;
class QLabel;

namespace attn::ui {

class ChangeMark;

/// The machine that the chain is built for.
class TargetSelector final : public QWidget {
  Q_OBJECT

 public:
  TargetSelector(EngineLink& link, const TargetList& targets, const Theme& theme, QWidget* parent = nullptr);
  [[nodiscard]] QComboBox* box() noexcept { return box_; }

 private:
  void refresh();

  EngineLink& link_;
  const TargetList& targets_;
  ChangeMark* edited_;
  QComboBox* box_;
  QLabel* facts_;
};

/// "sm_86 · 24 GiB · emulated on this host"
[[nodiscard]] QString target_facts(const Target& target);

}  // namespace attn::ui
