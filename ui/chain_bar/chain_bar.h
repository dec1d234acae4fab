// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/chain_bar/chain_diff.h"
#include "ui/chain_bar/chain_history.h"
#include "ui/link/engine_link.h"
#include "ui/theme/theme.h"

#include <QFrame>
#include <vector>

class QAction;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace attn::ui {

class ChainChip;
class ElidedLabel;
class HistoryPopup;

/// The chain as chips, with what is pending drawn into it and the two things one can do about that.
class ChainBar final : public QFrame {
  Q_OBJECT

 public:
  /// `settings` belongs to an engine link that the bar uses too, and outlives it.
  ChainBar(SettingsHistory& settings, const Theme& theme, QWidget* parent = nullptr);

  /// The run whose calls the chips count.
  void set_run(const trace::TraceSnapshot& run);
  /// "sdnq › flash › sdpa": the chips that are in force, for people who read the screen by ear, and for tests.
  [[nodiscard]] QString chain_text() const;
  [[nodiscard]] const std::vector<ChainLink>& links() const noexcept { return links_; }
  [[nodiscard]] const ChainHistory& history() const noexcept { return history_; }
  /// "chain.history": opens the list of the chains since start.
  [[nodiscard]] QAction* history_action() const noexcept { return show_history_; }

 private:
  void refresh();
  void show_links();
  void show_pending();
  void make_history();

  EngineLink& link_;
  ChainHistory history_;
  const Theme& theme_;
  trace::TraceSnapshot run_;
  std::shared_ptr<const Plan> applied_;
  std::shared_ptr<const Plan> wanted_;
  std::vector<ChainLink> links_;
  std::vector<ChainChip*> chips_;
  std::vector<QLabel*> arrows_;
  QHBoxLayout* chip_row_;
  ElidedLabel* pending_;
  QPushButton* revert_;
  QPushButton* rebuild_;
  QToolButton* history_button_;
  QAction* show_history_;
  HistoryPopup* popup_ = nullptr;
};

}  // namespace attn::ui
