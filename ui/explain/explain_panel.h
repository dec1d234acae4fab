// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/router/explanation.h"
#include "ui/explain/verdict_card.h"
#include "ui/link/engine_link.h"
#include "ui/selection/route_selection.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QScrollArea;
class QStackedWidget;
class QVBoxLayout;

namespace attn::ui {

/// The cards of an explanation, in the router's order, with the stage before the last.
[[nodiscard]] std::vector<Card> cards_of(const Explanation& explanation);

/// Why the selected route goes where it goes, by the chain in force, and where pending edits would send it.
class ExplainPanel final : public QWidget {
  Q_OBJECT

 public:
  ExplainPanel(EngineLink& link, RouteSelection& selection, const Theme& theme, QWidget* parent = nullptr);

 private:
  void refresh();
  void show_explanation(const trace::RouteRow& route, const Explanation& explanation, const QString& pending);
  void add_text(const QString& text, const char* look);

  EngineLink& link_;
  RouteSelection& selection_;
  const Theme& theme_;
  QStackedWidget* stack_;
  QScrollArea* area_;
  QVBoxLayout* column_ = nullptr;
};

}  // namespace attn::ui
