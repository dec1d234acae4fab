// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/explain/decision.h"
#include "ui/link/engine_link.h"
#include "ui/selection/selection.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QAction;
class QLabel;
class QLayout;
class QScrollArea;
class QStackedWidget;
class QVBoxLayout;

namespace attn::ui {

class TextGrid;

/// The decision record of the selected route or call: why it goes where it goes, by the chain in force, and where
/// pending edits would send it.
class ExplainPanel final : public QWidget {
  Q_OBJECT

 public:
  ExplainPanel(EngineLink& link, Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  /// The counts of the run, for the route's calls that stayed dense.
  void set_run(const trace::TraceSnapshot& run);
  /// The record as text, to the clipboard; the action "explain.copy".
  void copy() const;
  [[nodiscard]] QAction* copy_action() const noexcept { return copy_; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();
  [[nodiscard]] std::int32_t step() const;
  [[nodiscard]] Decision decide_now(bool every_check) const;
  void make_page();
  [[nodiscard]] QLayout* make_head(QWidget* page);
  void show_decision(const Decision& decision);
  void show_cards(const std::vector<Card>& cards);

  EngineLink& link_;
  Selection& selection_;
  const Theme& theme_;
  trace::TraceSnapshot run_;
  std::vector<trace::StageSkip> skips_;  ///< of the selected route, as shown
  std::vector<trace::StageSkip> fall_backs_;
  QStackedWidget* stack_;
  QScrollArea* area_;
  QLabel* title_ = nullptr;
  TextGrid* facts_ = nullptr;
  QLabel* served_ = nullptr;
  TextGrid* notes_ = nullptr;
  QVBoxLayout* cards_ = nullptr;  ///< kept, and filled anew: making a hundred labels takes longer than a frame
  TextGrid* moves_ = nullptr;
  QAction* copy_;
  bool stale_ = true;
  bool every_check_ = false;
};

}  // namespace attn::ui
