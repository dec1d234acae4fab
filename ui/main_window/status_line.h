// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"

#include <QStatusBar>

class QLabel;

namespace attn::ui {

/// The chain in force, where the job is, how fast, what was dropped, and what this host is.
class StatusLine final : public QStatusBar {
  Q_OBJECT

 public:
  explicit StatusLine(QWidget* parent = nullptr);

  void show_chain(const QString& chain);
  void show_progress(const RunProgress& progress, double calls_per_second);
  void show_dropped(std::uint64_t dropped);

 private:
  QLabel* add(const char* look);

  QLabel* chain_;
  QLabel* role_;
  QLabel* step_;
  QLabel* speed_;
  QLabel* dropped_;
};

}  // namespace attn::ui
