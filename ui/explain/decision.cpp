// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/decision.h"

#include "core/policy/math_probe.h"
#include "ui/format/format.h"
#include "ui/sparse/skip_reasons.h"

#include <QCoreApplication>
#include <algorithm>

namespace attn::ui {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Explain", text); }

Card card_of(const BackendVerdict& verdict, const Explanation& explanation, bool every_check) {
  Card card;
  card.name = text_of(verdict.backend);
  card.backend = card.name;
  card.checks = verdict.checks;
  if (verdict.serves) {
    card.outcome = tr("serves");
    card.ink = Ink::ok;
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
      card.outcome = verdict.accepts ? tr("not reached") : tr("declined");
      card.ink = verdict.accepts ? Ink::dim : Ink::bad;
      if (verdict.accepts && verdict.checks.empty()) card.sentence = text_of(verdict.reason);
      break;
    case BackendState::disabled:
      card.outcome = verdict.accepts ? tr("off · would accept") : tr("off · would decline");
      // Of a backend that is not in the chain first of all what would stop it matters.
      if (!every_check) std::erase_if(card.checks, [](const Verdict& check) { return check.ok; });
      break;
    case BackendState::unavailable:
    case BackendState::failed:
    case BackendState::skipped:
      card.outcome = text_of(name_of(verdict.state));
      card.ink = verdict.state == BackendState::failed ? Ink::bad : Ink::dim;
      card.sentence = text_of(verdict.state_reason);
      if (!every_check) std::erase_if(card.checks, [](const Verdict& check) { return check.ok; });
      break;
  }
  return card;
}

Card stage_card(const Explanation& explanation, const trace::RouteRow& route) {
  Card card;
  card.name = tr("sparse stage");
  const auto& stage = explanation.stage;
  card.outcome = stage.selects ? tr("selects") : (stage.consulted ? tr("stays dense") : tr("not asked"));
  card.ink = stage.selects ? Ink::ok : Ink::dim;
  card.sentence = stage.selects ? tr("budget %1, density %2").arg(share_text(stage.budget), share_text(stage.density))
                                : text_of(stage.reason);
  const QStringList counted_reasons = skip_lines(route);
  if (!counted_reasons.isEmpty()) {
    card.sentence = counted_reasons.join('\n');
    const auto tokens = route.id.query.rank >= 2 ? route.id.query.size[route.id.query.rank - 2U] : 0;
    const QString remedy = remedy_for(route.stage_skips.front().reason, tokens);
    if (!remedy.isEmpty()) card.sentence += '\n' + tr("To change that, %1.").arg(remedy);
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

QString tensor_text(const trace::EventShape& shape, DType dtype, Layout layout) {
  return shape_text(shape) + ' ' + text_of(short_name_of(dtype)) + ' ' + text_of(name_of(layout));
}

QString target_text(const Target& target) {
  QStringList parts{text_of(target.label.empty() ? target.name : target.label)};
  if (target.memory_bytes) parts << bytes_text(*target.memory_bytes);
  return parts.join(QStringLiteral(" · "));
}

std::vector<DecisionFact> facts_of(const DecisionInput& input) {
  const trace::RouteRow& route = input.route;
  std::vector<DecisionFact> facts;
  facts.push_back({tr("target"), target_text(input.target)});
  if (!input.explanation.emulation.empty()) facts.push_back({tr("hardware"), text_of(input.explanation.emulation)});
  facts.push_back({tr("chain"), text_of(input.explanation.chain).replace('>', QStringLiteral(" › "))});
  const QString query = tensor_text(route.id.query, route.id.dtype, route.query_layout);
  const QString key = tensor_text(route.id.key, route.key_dtype, route.key_layout);
  const QString value = tensor_text(route.value, route.value_dtype, route.value_layout);
  facts.push_back({tr("query"), query});
  if (key == value) {
    facts.push_back({tr("key, value"), key == query ? tr("as query") : key});
  } else {
    facts.push_back({tr("key"), key});
    facts.push_back({tr("value"), value});
  }
  facts.push_back({tr("mask"), mask_text(route) + (route.gqa ? tr(", grouped heads") : QString())});
  facts.push_back({tr("role, step"), text_of(name_of(route.id.role)) + ", " + QString::number(input.step)});
  if (input.call) {
    QString call = tr("number %1").arg(count_text(static_cast<qint64>(input.call->index)));
    if (input.call->record.timed()) call += ", " + seconds_text(static_cast<double>(input.call->record.seconds));
    facts.push_back({tr("call"), call});
  }
  const auto& dispatch = input.explanation.dispatch;
  if (!dispatch.requested.empty() && dispatch.state != "default") {
    facts.push_back({tr("dispatcher"), text_of(dispatch.requested) + ": " + text_of(dispatch.state) +
                                           (dispatch.reason.empty() ? QString() : ", " + text_of(dispatch.reason))});
  }
  return facts;
}

}  // namespace

std::vector<Card> cards_of(const Explanation& explanation, const trace::RouteRow& route, bool every_check) {
  std::vector<Card> cards;
  for (const BackendVerdict& verdict : explanation.entries) {
    if (&verdict == &explanation.entries.back()) cards.push_back(stage_card(explanation, route));
    cards.push_back(card_of(verdict, explanation, every_check));
  }
  return cards;
}

MathMemory math_memory(const AttentionCall& call, const Target& target) {
  MathMemory memory;
  memory.bytes = math_score_bytes(call.batch(), call.heads(), call.query_tokens(), call.key_tokens());
  memory.over = target.memory_bytes.has_value() && memory.bytes > *target.memory_bytes;
  return memory;
}

Decision decide(const DecisionInput& input, bool every_check) {
  const Explanation& explanation = input.explanation;
  Decision decision;
  decision.headline = headline(input.route);
  decision.facts = facts_of(input);
  decision.backend = text_of(explanation.executed);
  decision.served = decision.backend;
  if (!explanation.kernel.empty()) decision.served += " · " + text_of(explanation.kernel);
  decision.reason = text_of(explanation.reason);
  decision.memory = explanation.memory_bytes > 0
                        ? tr("It takes %1 beyond its tensors.").arg(bytes_text(explanation.memory_bytes))
                        : tr("It takes nothing beyond its tensors.");
  const MathMemory math = math_memory(input.call_shape, input.target);
  decision.math_over = math.over;
  if (explanation.kernel == "math") {
    decision.math = tr("This is the math kernel: its scores are %1.").arg(bytes_text(math.bytes));
  } else {
    decision.math = tr("The math kernel would take %1.").arg(bytes_text(math.bytes));
  }
  if (math.over) {
    decision.math.chop(1);
    decision.math +=
        tr(", more than the %1 of %2.").arg(bytes_text(*input.target.memory_bytes), text_of(input.target.label));
  }
  decision.pending = input.pending;
  for (const std::string& warning : explanation.warnings) decision.warnings << text_of(warning);
  for (const trace::StageSkip& one : input.route.fall_backs) {
    decision.warnings << tr("%1 fell back to here: %2").arg(counted(one.calls, tr("call")), text_of(one.reason));
  }
  decision.cards = cards_of(explanation, input.route, every_check);
  for (const std::string& move : explanation.to_move) decision.moves << text_of(move);
  return decision;
}

QString text_of_decision(const Decision& decision) {
  QStringList lines{decision.headline, QString()};
  for (const DecisionFact& fact : decision.facts) lines << QStringLiteral("%1  %2").arg(fact.name, -12).arg(fact.text);
  lines << QString() << tr("Served by %1: %2.").arg(decision.served, decision.reason);
  lines << decision.memory + ' ' + decision.math;
  if (!decision.pending.isEmpty()) lines << decision.pending;
  for (const QString& warning : decision.warnings) lines << tr("Warning: %1").arg(warning);
  for (const Card& card : decision.cards) {
    lines << QString() << card.name + ": " + card.outcome;
    for (const Verdict& check : card.checks) {
      lines << QStringLiteral("  %1 %2  %3  %4")
                   .arg(check.ok ? tr("ok ") : tr("no "))
                   .arg(text_of(check.check), -18)
                   .arg(text_of(check.required), -26)
                   .arg(text_of(check.actual));
    }
    if (!card.sentence.isEmpty()) lines << "  " + QString(card.sentence).replace('\n', QStringLiteral("\n  "));
  }
  if (!decision.moves.isEmpty()) {
    lines << QString() << tr("To move this call");
    for (const QString& move : decision.moves) lines << "  " + move;
  }
  return lines.join('\n') + '\n';
}

}  // namespace attn::ui
