// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/explain_panel.h"

#include "core/call/call_text.h"
#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/sparse/skip_reasons.h"

#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

Card card_of(const BackendVerdict& verdict, const Explanation& explanation) {
  Card card;
  card.name = text_of(verdict.backend);
  card.backend = card.name;
  card.checks = verdict.checks;
  if (verdict.serves) {
    card.outcome = ExplainPanel::tr("serves");
    card.look = "ok";
    card.checks.insert(card.checks.end(), explanation.kernel_choices.begin(), explanation.kernel_choices.end());
    // The original's checks are its kernel choices already.
    if (!verdict.checks.empty() && !explanation.kernel_choices.empty() &&
        verdict.checks.front().check == explanation.kernel_choices.front().check) {
      card.checks = verdict.checks;
    }
    return card;
  }
  switch (verdict.state) {
    case BackendState::ready:
      card.outcome = verdict.accepts ? ExplainPanel::tr("not reached") : ExplainPanel::tr("declined");
      card.look = verdict.accepts ? "dim" : "bad";
      if (verdict.accepts && verdict.checks.empty()) card.sentence = text_of(verdict.reason);
      break;
    case BackendState::disabled:
      card.outcome = verdict.accepts ? ExplainPanel::tr("off · would accept") : ExplainPanel::tr("off · would decline");
      // Of a backend that is not in the chain only what would stop it matters.
      std::erase_if(card.checks, [](const Verdict& check) { return check.ok; });
      break;
    case BackendState::unavailable:
    case BackendState::failed:
    case BackendState::skipped:
      card.outcome = text_of(name_of(verdict.state));
      card.look = verdict.state == BackendState::failed ? "bad" : "dim";
      card.sentence = text_of(verdict.state_reason);
      std::erase_if(card.checks, [](const Verdict& check) { return check.ok; });
      break;
  }
  return card;
}

Card stage_card(const Explanation& explanation, const trace::RouteRow& route) {
  Card card;
  card.name = ExplainPanel::tr("sparse stage");
  const auto& stage = explanation.stage;
  card.outcome = stage.selects ? ExplainPanel::tr("selects")
                               : (stage.consulted ? ExplainPanel::tr("stays dense") : ExplainPanel::tr("not asked"));
  card.look = stage.selects ? "ok" : "dim";
  card.sentence =
      stage.selects ? ExplainPanel::tr("budget %1, density %2").arg(share_text(stage.budget), share_text(stage.density))
                    : text_of(stage.reason);
  const QStringList counted_reasons = skip_lines(route);
  if (!counted_reasons.isEmpty()) {
    card.sentence = counted_reasons.join('\n');
    const auto tokens = route.id.query.rank >= 2 ? route.id.query.size[route.id.query.rank - 2U] : 0;
    const QString remedy = remedy_for(route.stage_skips.front().reason, tokens);
    if (!remedy.isEmpty()) card.sentence += '\n' + ExplainPanel::tr("To change that, %1.").arg(remedy);
  }
  return card;
}

QString headline(const trace::RouteRow& route) {
  QStringList parts;
  if (route.id.role != Role::none) parts << text_of(name_of(route.id.role));
  parts << "q " + shape_text(route.id.query);
  if (!(route.id.key == route.id.query)) parts << "k " + shape_text(route.id.key);
  parts << text_of(short_name_of(route.id.dtype));
  if (mask_text(route) != "none") parts << mask_text(route);
  return parts.join(" · ");
}

}  // namespace

std::vector<Card> cards_of(const Explanation& explanation, const trace::RouteRow& route) {
  std::vector<Card> cards;
  for (const BackendVerdict& verdict : explanation.entries) {
    if (&verdict == &explanation.entries.back()) cards.push_back(stage_card(explanation, route));
    cards.push_back(card_of(verdict, explanation));
  }
  return cards;
}

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
}

void ExplainPanel::refresh() {
  const auto& route = selection_.route();
  if (!route) {
    stack_->setCurrentIndex(0);
    return;
  }
  skips_.clear();
  calls_ = 0;
  for (const trace::RouteRow& row : run_.routes) {
    if (!(row.id == route->id)) continue;
    skips_ = row.stage_skips;
    calls_ = row.calls;
  }
  const Engine& engine = link_.engine();
  const std::shared_ptr<const Plan> plan = engine.plan();
  const Expected<WrittenCall> written = parse_call(written_call(*route, plan->target().is_cpu()));
  if (!written) return;
  const Explanation now = engine.explain(written->call, route->id.role, route->first_step);
  QString pending;
  if (engine.is_pending()) {
    GenerationContext context;
    context.begin(std::nullopt, route->last_step + 1);
    context.set_step(route->first_step);
    context.set_role(route->id.role);
    const Explanation then = explain_route(engine.registry(), *engine.wanted_plan(), written->call, context, nullptr);
    pending = then.executed == now.executed
                  ? tr("The pending edits leave it where it is.")
                  : tr("With the pending edits: %1 → %2").arg(text_of(now.executed), text_of(then.executed));
  }
  trace::RouteRow counted_route = *route;
  counted_route.stage_skips = skips_;
  counted_route.calls = calls_;
  show_explanation(counted_route, now, pending);
}

void ExplainPanel::set_run(const trace::TraceSnapshot& run) {
  run_ = run;
  if (!selection_.route()) return;
  const auto row = std::find_if(run.routes.begin(), run.routes.end(),
                                [&](const trace::RouteRow& r) { return r.id == selection_.route()->id; });
  const auto skips = row == run.routes.end() ? std::vector<trace::StageSkip>() : row->stage_skips;
  if (skips != skips_) refresh();
}

void ExplainPanel::show_explanation(const trace::RouteRow& route, const Explanation& explanation,
                                    const QString& pending) {
  const int scroll = area_->verticalScrollBar()->value();
  setUpdatesEnabled(false);
  auto* content = new QWidget;
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(12, 10, 12, 14);
  column_->setSpacing(7);
  add_text(headline(route), "title");

  const QString served =
      text_of(explanation.executed) + (explanation.kernel.empty() ? QString() : " · " + text_of(explanation.kernel));
  auto* sentence = new QLabel(content);
  sentence->setWordWrap(true);
  sentence->setTextFormat(Qt::RichText);
  set_look(sentence, "dim");
  const QString memory = explanation.memory_bytes > 0
                             ? tr(" It takes %1 beyond its tensors.").arg(bytes_text(explanation.memory_bytes))
                             : QString();
  sentence->setText(tr("Served by <b style=\"color:%1\">%2</b>: %3.%4")
                        .arg(theme_.backend(text_of(explanation.executed)).name(), served.toHtmlEscaped(),
                             text_of(explanation.reason).toHtmlEscaped(), memory.toHtmlEscaped()));
  column_->addWidget(sentence);
  if (!pending.isEmpty()) add_text(pending, "pending");
  for (const std::string& warning : explanation.warnings) add_text("⚠ " + text_of(warning), "pending");
  for (const Card& card : cards_of(explanation, route)) column_->addWidget(new VerdictCard(card, theme_, content));
  if (!explanation.to_move.empty()) {
    column_->addSpacing(3);
    add_text(tr("To move this call"), "title");
    for (const std::string& move : explanation.to_move) add_text("→ " + text_of(move), "dim");
  }
  column_->addStretch(1);
  area_->setWidget(content);
  stack_->setCurrentIndex(1);
  area_->verticalScrollBar()->setValue(scroll);
  setUpdatesEnabled(true);
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
