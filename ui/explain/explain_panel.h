// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/router/explanation.h"
#include "ui/explain/verdict_card.h"
#include "ui/link/engine_link.h"
#include "ui/selection/selection.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QScrollArea;
class QStackedWidget;
class QVBoxLayout;

namespace attn::ui {

/// The cards of an explanation, in the router's order, with the stage before the last.
/// `route` brings why the stage left calls dense so far.
[[nodiscard]] std::vector<Card> cards_of(const Explanation& explanation, const trace::RouteRow& route);

/// Why the selected route goes where it goes, by the chain in force, and where pending edits would send it.
class ExplainPanel final : public QWidget {
  Q_OBJECT

 public:
  ExplainPanel(EngineLink& link, Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  /// The counts of the run, for the route's calls that stayed dense.
  void set_run(const trace::TraceSnapshot& run);

 private:
  void refresh();
  void show_explanation(const trace::RouteRow& route, const Explanation& explanation, const QString& pending);
  void add_text(const QString& text, const char* look);

  EngineLink& link_;
  Selection& selection_;
  const Theme& theme_;
  trace::TraceSnapshot run_;
  std::vector<trace::StageSkip> skips_;  ///< of the selected route, as shown
  std::int64_t calls_ = 0;               ///< of the selected route, as shown beside them
  QStackedWidget* stack_;
  QScrollArea* area_;
  QVBoxLayout* column_ = nullptr;
};

}  // namespace attn::ui
