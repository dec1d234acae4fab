// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/commands/command_registry.h"
#include "ui/theme/theme.h"

#include <QDialog>

class QGridLayout;
class QVBoxLayout;

namespace attn::ui {

/// Every command that has keys, by menu, in columns that fit on a screen. Not modal: it can stay open beside the work.
class KeySheet final : public QDialog {
  Q_OBJECT

 public:
  KeySheet(const CommandRegistry& commands, const Theme& theme, QWidget* parent);

  /// The sheet as lines: "Chain | Rebuild | Ctrl+B".
  [[nodiscard]] QStringList lines() const { return lines_; }

 private:
  QWidget* make_section(const QString& title, const std::vector<const Command*>& rows, const Theme& theme);

  QStringList lines_;
};

}  // namespace attn::ui
