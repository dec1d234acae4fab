// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/stored/stored_report.h"
#include "ui/theme/theme.h"

#include <QFrame>

class QLabel;
class QPushButton;

namespace attn::ui {

class FactTable;

/// Says above everything else which stored values do not hold and what the window uses instead. Hidden while there is
/// nothing to say.
class StoredBanner final : public QFrame {
  Q_OBJECT

 public:
  StoredBanner(const Theme& theme, QWidget* parent = nullptr);
  void show_report(const StoredReport& report);

 private:
  void show_table(bool shown);

  const Theme& theme_;
  QLabel* sentence_;
  QPushButton* details_;
  FactTable* table_;
};

}  // namespace attn::ui
