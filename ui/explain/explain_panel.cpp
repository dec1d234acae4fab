// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/explain_panel.h"

#include "core/call/call_text.h"
#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/panel/text_grid.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QScrollArea>
#include <QShowEvent>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

namespace attn::ui {

ExplainPanel::ExplainPanel(EngineLink& link, Selection& selection, const Theme& theme, QWidget* parent)
    : QWidget(parent), link_(link), selection_(selection), theme_(theme) {
  setObjectName("explain_panel");
  set_look(this, "panel");
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No route selected"),
                                   tr("Select a row of the route table: what every backend checked, who serves the "
                                      "call, why, and what would move it stands here."),
                                   stack_));
  area_ = new QScrollArea(stack_);
  area_->setWidgetResizable(true);
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area_->setAccessibleName(tr("Explain"));
  stack_->addWidget(area_);
  outer->addWidget(stack_);
  copy_ = new QAction(tr("Copy the &explanation"), this);
  copy_->setObjectName("explain.copy");
  copy_->setToolTip(tr("The whole decision record as text"));
  connect(copy_, &QAction::triggered, this, &ExplainPanel::copy);
  make_page();
  connect(&selection_, &Selection::changed, this, &ExplainPanel::refresh);
  connect(&link_, &EngineLink::settings_changed, this, &ExplainPanel::refresh);
  connect(&theme_, &Theme::changed, this, &ExplainPanel::refresh);
}

void ExplainPanel::copy() const {
  if (selection_.route()) QGuiApplication::clipboard()->setText(text_of_decision(decide_now(true)));
}

std::int32_t ExplainPanel::step() const { return selection_.step().value_or(selection_.route()->first_step); }

Decision ExplainPanel::decide_now(bool every_check) const {
  trace::RouteRow route = *selection_.route();
  for (const trace::RouteRow& row : run_.routes) {
    if (!(row.id == route.id)) continue;
    route.stage_skips = row.stage_skips;
    route.fall_backs = row.fall_backs;
    route.calls = row.calls;
  }
  const Engine& engine = link_.engine();
  const std::shared_ptr<const Plan> plan = engine.plan();
  const Expected<WrittenCall> written = parse_call(written_call(route, plan->target().is_cpu()));
  if (!written) return {};
  const Explanation now = engine.explain(written->call, route.id.role, step());
  DecisionInput input{now, route, written->call, plan->target(), step(), selection_.call(), {}};
  if (engine.is_pending()) {
    GenerationContext context;
    context.begin(std::nullopt, route.last_step + 1);
    context.set_step(step());
    context.set_role(route.id.role);
    const Explanation then = explain_route(engine.registry(), *engine.wanted_plan(), written->call, context, nullptr);
    input.pending = then.executed == now.executed
                        ? tr("The pending edits leave it where it is.")
                        : tr("With the pending edits: %1 → %2").arg(text_of(now.executed), text_of(then.executed));
  }
  return decide(input, every_check);
}

void ExplainPanel::refresh() {
  stale_ = !isVisible();
  if (stale_) return;  // behind another tab nobody reads it
  if (!selection_.route()) {
    stack_->setCurrentIndex(0);
    return;
  }
  skips_.clear();
  fall_backs_.clear();
  for (const trace::RouteRow& row : run_.routes) {
    if (!(row.id == selection_.route()->id)) continue;
    skips_ = row.stage_skips;
    fall_backs_ = row.fall_backs;
  }
  const Decision decision = decide_now(every_check_);
  if (!decision.headline.isEmpty()) show_decision(decision);
}

void ExplainPanel::set_run(const trace::TraceSnapshot& run) {
  run_ = run;
  if (!selection_.route()) return;
  const auto row = std::find_if(run.routes.begin(), run.routes.end(),
                                [&](const trace::RouteRow& r) { return r.id == selection_.route()->id; });
  const auto skips = row == run.routes.end() ? std::vector<trace::StageSkip>() : row->stage_skips;
  const auto fall_backs = row == run.routes.end() ? std::vector<trace::StageSkip>() : row->fall_backs;
  if (skips != skips_ || fall_backs != fall_backs_) refresh();
}

void ExplainPanel::make_page() {
  auto* page = new QWidget(area_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(12, 10, 12, 14);
  column->setSpacing(7);
  column->addLayout(make_head(page));
  facts_ = new TextGrid({{0, false}, {0, true}}, theme_, page);
  served_ = new QLabel(page);
  served_->setWordWrap(true);
  served_->setTextFormat(Qt::RichText);
  served_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(served_, "dim");
  notes_ = new TextGrid({{0, true}}, theme_, page);
  cards_ = new QVBoxLayout;
  cards_->setSpacing(7);
  moves_ = new TextGrid({{0, true}}, theme_, page);
  column->addWidget(facts_);
  column->addWidget(served_);
  column->addWidget(notes_);
  column->addLayout(cards_);
  column->addWidget(moves_);
  column->addStretch(1);
  area_->setWidget(page);
}

QLayout* ExplainPanel::make_head(QWidget* page) {
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  title_ = new QLabel(page);
  title_->setWordWrap(true);
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(title_, "title");
  row->addWidget(title_, 1);
  const auto button = [&](const char* name, const QString& text, const QString& tip) {
    auto* made = new QToolButton(page);
    made->setObjectName(name);
    made->setText(text);
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    set_look(made, "button_small");
    row->addWidget(made, 0, Qt::AlignTop);
    return made;
  };
  QToolButton* all = button("explain_all", tr("All checks"), tr("Also the checks that hold of backends that are off"));
  all->setCheckable(true);
  connect(all, &QToolButton::toggled, this, [this](bool on) {
    every_check_ = on;
    refresh();
  });
  connect(button("explain_copy_button", tr("Copy"), copy_->toolTip()), &QToolButton::clicked, copy_, &QAction::trigger);
  return row;
}

void ExplainPanel::show_decision(const Decision& decision) {
  title_->setText(decision.headline);
  std::vector<GridRow> facts;
  for (const DecisionFact& fact : decision.facts) facts.push_back({{fact.name, Ink::dim}, {fact.text}});
  facts_->set_rows(std::move(facts));
  const QString math =
      decision.math_over
          ? QStringLiteral("<b style=\"color:%1\">%2</b>").arg(theme_[Ink::bad].name(), decision.math.toHtmlEscaped())
          : decision.math.toHtmlEscaped();
  served_->setText(tr("Served by <b style=\"color:%1\">%2</b>: %3. %4 %5")
                       .arg(theme_.backend(decision.backend).name(), decision.served.toHtmlEscaped(),
                            decision.reason.toHtmlEscaped(), decision.memory.toHtmlEscaped(), math));
  std::vector<GridRow> notes;
  if (!decision.pending.isEmpty()) notes.push_back({{decision.pending, Ink::pending}});
  for (const QString& warning : decision.warnings) notes.push_back({{"⚠ " + warning, Ink::pending}});
  notes_->setVisible(!notes.empty());
  notes_->set_rows(std::move(notes));
  show_cards(decision.cards);
  std::vector<GridRow> moves;
  if (!decision.moves.isEmpty()) moves.push_back({{tr("To move this call"), Ink::text, true}});
  for (const QString& move : decision.moves) moves.push_back({{"→ " + move, Ink::dim}});
  moves_->setVisible(!moves.empty());
  moves_->set_rows(std::move(moves));
  stack_->setCurrentIndex(1);
}

void ExplainPanel::show_cards(const std::vector<Card>& cards) {
  while (cards_->count() > static_cast<int>(cards.size())) {
    const std::unique_ptr<QLayoutItem> item(cards_->takeAt(cards_->count() - 1));
    delete item->widget();
  }
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (static_cast<int>(i) == cards_->count()) cards_->addWidget(new VerdictCard(theme_, area_->widget()));
    static_cast<VerdictCard*>(cards_->itemAt(static_cast<int>(i))->widget())->set_card(cards[i]);
  }
}

void ExplainPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) refresh();
}

}  // namespace attn::ui
