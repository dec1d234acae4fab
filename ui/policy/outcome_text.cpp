// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/policy/outcome_text.h"

#include "ui/format/format.h"

#include <QCoreApplication>

namespace attn::ui {

namespace {

QString say(const char* text) { return QCoreApplication::translate("attn::ui::PolicyRows", text); }

/// What a job does where the backend cannot be had.
QString otherwise(bool strict) {
  return strict ? say("Strict: a job does not start.") : say("Not strict: the router serves instead, with a warning.");
}

QString detail(const QStringList& clauses) {
  QStringList sentences;
  for (const QString& clause : clauses) {
    if (!clause.isEmpty()) sentences << (clause.endsWith('.') ? clause : clause + '.');
  }
  return sentences.join(' ');
}

}  // namespace

OutcomeText outcome_text(const RoleOutcome& outcome, const QString& target) {
  const AttentionDecision& decision = outcome.decision;
  const attn::Selection& selection = decision.selection;
  const QString name = text_of(selection.requested);
  const QString who = say("Who decides: %1").arg(text_of(name_of(decision.level)));
  const QString why = text_of(selection.reason);
  if (selection.state == SelectionState::rejected) {
    return {say("%1: rejected on %2").arg(name, target), "bad", detail({why, otherwise(decision.strict), who})};
  }
  if (!selection.backend) {
    return {say("%1: default attention, through the router").arg(name), "dim", detail({why, who})};
  }
  if (!outcome.problem.isEmpty()) {
    return {say("%1: cannot serve here").arg(name), "bad", detail({outcome.problem, otherwise(decision.strict), who})};
  }
  const QString direct = say("Served directly by %1, bypassing the router.").arg(text_of(*selection.backend));
  if (selection.state == SelectionState::unverified) {
    return {say("%1: engaged, unverified on %2").arg(name, target), "pending", detail({direct, why, who})};
  }
  return {say("%1: supported on %2, engaged").arg(name, target), "ok", detail({direct, who})};
}

QString policy_note(const PolicyState& state) {
  for (const RoleOutcome& outcome : state.outcomes) {
    if (outcome.decision.role != Role::transformer) continue;
    const attn::Selection& selection = outcome.decision.selection;
    const QString result = outcome.problem.isEmpty() ? text_of(name_of(selection.state)) : say("cannot serve");
    return text_of(selection.requested) + " → " + result;
  }
  return {};
}

}  // namespace attn::ui
