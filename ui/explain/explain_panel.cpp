// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/explain_panel.h"

#include "core/call/call_text.h"
#include "ui/format/format.h"
#include "ui/panel/empty_state.h"

#include <QAction>
#include <QClipboard>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

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
  connect(&selection_, &Selection::changed, this, &ExplainPanel::refresh);
  connect(&link_, &EngineLink::settings_changed, this, &ExplainPanel::refresh);
  connect(&theme_, &Theme::changed, this, &ExplainPanel::refresh);
  copy_ = new QAction(tr("Copy the &explanation"), this);
  copy_->setObjectName("explain.copy");
  copy_->setToolTip(tr("The whole decision record as text"));
  connect(copy_, &QAction::triggered, this, &ExplainPanel::copy);
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
  if (!selection_.route()) {
    stack_->setCurrentIndex(0);
    return;
  }
  skips_.clear();
  for (const trace::RouteRow& row : run_.routes) {
    if (row.id == selection_.route()->id) skips_ = row.stage_skips;
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
  if (skips != skips_) refresh();
}

void ExplainPanel::show_decision(const Decision& decision) {
  const int scroll = area_->verticalScrollBar()->value();
  setUpdatesEnabled(false);
  auto* content = new QWidget;
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(12, 10, 12, 14);
  column_->setSpacing(7);
  add_head(decision.headline);
  add_facts(decision.facts);

  auto* sentence = new QLabel(content);
  sentence->setWordWrap(true);
  sentence->setTextFormat(Qt::RichText);
  sentence->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(sentence, "dim");
  const QString math =
      decision.math_over
          ? QStringLiteral("<b style=\"color:%1\">%2</b>").arg(theme_[Ink::bad].name(), decision.math.toHtmlEscaped())
          : decision.math.toHtmlEscaped();
  sentence->setText(tr("Served by <b style=\"color:%1\">%2</b>: %3. %4 %5")
                        .arg(theme_.backend(decision.backend).name(), decision.served.toHtmlEscaped(),
                             decision.reason.toHtmlEscaped(), decision.memory.toHtmlEscaped(), math));
  column_->addWidget(sentence);
  if (!decision.pending.isEmpty()) add_text(decision.pending, "pending");
  for (const QString& warning : decision.warnings) add_text("⚠ " + warning, "pending");
  for (const Card& card : decision.cards) column_->addWidget(new VerdictCard(card, theme_, content));
  if (!decision.moves.isEmpty()) {
    column_->addSpacing(3);
    add_text(tr("To move this call"), "title");
    for (const QString& move : decision.moves) add_text("→ " + move, "dim");
  }
  column_->addStretch(1);
  area_->setWidget(content);
  stack_->setCurrentIndex(1);
  area_->verticalScrollBar()->setValue(scroll);
  setUpdatesEnabled(true);
}

void ExplainPanel::add_head(const QString& headline) {
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  auto* title = new QLabel(headline, column_->parentWidget());
  title->setWordWrap(true);
  title->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(title, "title");
  row->addWidget(title, 1);
  const auto button = [&](const char* name, const QString& text, const QString& tip) {
    auto* made = new QToolButton(column_->parentWidget());
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
  all->setChecked(every_check_);
  // The button is replaced together with the record that it asks for.
  connect(all, &QToolButton::toggled, this, [this](bool on) { every_check_ = on; });
  connect(all, &QToolButton::toggled, this, &ExplainPanel::refresh, Qt::QueuedConnection);
  connect(button("explain_copy_button", tr("Copy"), copy_->toolTip()), &QToolButton::clicked, copy_, &QAction::trigger);
  column_->addLayout(row);
}

void ExplainPanel::add_facts(const std::vector<DecisionFact>& facts) {
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(10);
  grid->setVerticalSpacing(2);
  grid->setColumnStretch(1, 1);
  int at = 0;
  for (const DecisionFact& fact : facts) {
    auto* name = new QLabel(fact.name, column_->parentWidget());
    name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    set_look(name, "dim");
    auto* text = new QLabel(fact.text, column_->parentWidget());
    text->setWordWrap(true);
    text->setTextFormat(Qt::PlainText);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    grid->addWidget(name, at, 0);
    grid->addWidget(text, at, 1);
    ++at;
  }
  column_->addLayout(grid);
}

void ExplainPanel::add_text(const QString& text, const char* look) {
  auto* label = new QLabel(text, column_->parentWidget());
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(label, look);
  column_->addWidget(label);
}

}  // namespace attn::ui
