// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/explain/decision.h"
#include "ui/link/engine_link.h"
#include "ui/selection/selection.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QAction;
class QScrollArea;
class QStackedWidget;
class QVBoxLayout;

namespace attn::ui {

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

 private:
  void refresh();
  [[nodiscard]] std::int32_t step() const;
  [[nodiscard]] Decision decide_now(bool every_check) const;
  void show_decision(const Decision& decision);
  void add_head(const QString& headline);
  void add_facts(const std::vector<DecisionFact>& facts);
  void add_text(const QString& text, const char* look);

  EngineLink& link_;
  Selection& selection_;
  const Theme& theme_;
  trace::TraceSnapshot run_;
  std::vector<trace::StageSkip> skips_;  ///< of the selected route, as shown
  QStackedWidget* stack_;
  QScrollArea* area_;
  QVBoxLayout* column_ = nullptr;
  QAction* copy_;
  bool every_check_ = false;
};

}  // namespace attn::ui
