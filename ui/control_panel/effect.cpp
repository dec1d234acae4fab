// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/effect.h"

#include "core/router/explanation.h"
#include "ui/format/format.h"
#include "ui/sparse/sparse_context.h"

#include <QCoreApplication>
#include <algorithm>
#include <map>

namespace attn::ui {

namespace {

/// The stage that the engine would build for a plan, which says nothing to the log.
std::unique_ptr<SelectionStage> stage_of(const Plan& plan) {
  std::vector<std::string_view> capable;
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.capabilities.block_mask) capable.push_back(entry.name);
  }
  return make_stage(plan.captured(), capable, {}, {});
}

/// Asks one chain about the routes of a run.
class Planner {
 public:
  Planner(const Registry& registry, const Plan& plan, const RunFacts& facts)
      : registry_(registry), plan_(plan), facts_(facts), stage_(stage_of(plan)) {}

  [[nodiscard]] Explanation ask(const AttentionCall& call, Role role, std::int32_t step) {
    GenerationContext context;
    context.begin(facts_.pipeline, facts_.steps);
    if (const TokenLayout* layout = facts_.layout_of(call.query_tokens())) context.set_layout(*layout);
    context.set_role(role);
    context.set_step(step);
    return explain_route(registry_, plan_, call, context, stage_.get());
  }
  [[nodiscard]] bool follows_steps(const trace::RouteRow& row) const {
    return stage_ != nullptr && has_tiles_to_choose(row);
  }

 private:
  const Registry& registry_;
  const Plan& plan_;
  const RunFacts& facts_;
  std::unique_ptr<SelectionStage> stage_;
};

QString server_of(const Explanation& explanation) {
  return text_of(explanation.executed) + (explanation.sparse ? QStringLiteral("+sparse") : QString());
}

}  // namespace

std::int64_t Effect::moved() const noexcept {
  std::int64_t sum = 0;
  for (const EffectMove& move : moves) sum += move.calls;
  return sum;
}

Effect predict_effect(const Registry& registry, const Plan& applied, const Plan& wanted,
                      const trace::TraceSnapshot& run, const RunFacts& facts) {
  Effect effect;
  effect.calls = run.calls;
  effect.target_memory = wanted.target().memory_bytes;
  Planner now(registry, applied, facts);
  Planner then(registry, wanted, facts);
  std::map<std::pair<QString, QString>, std::int64_t> moves;
  for (std::size_t i = 0; i < run.routes.size(); ++i) {
    const trace::RouteRow& row = run.routes[i];
    if (row.id.bypassed) continue;
    const auto call_now = call_of(row, applied.target().is_cpu());
    const auto call_then = call_of(row, wanted.target().is_cpu());
    if (!call_now || !call_then) {
      effect.unknown += row.calls;
      continue;
    }
    const auto move = [&](std::int32_t step, std::int64_t calls) {
      const Explanation before = now.ask(*call_now, row.id.role, step);
      const Explanation after = then.ask(*call_then, row.id.role, step);
      effect.memory_before = std::max(effect.memory_before, before.memory_bytes);
      effect.memory_after = std::max(effect.memory_after, after.memory_bytes);
      const QString from = server_of(before);
      if (const QString to = server_of(after); to != from) moves[{from, to}] += calls;
    };
    std::int64_t stepped = 0;
    if (now.follows_steps(row) || then.follows_steps(row)) {
      for (const trace::RouteStep& step : run.steps) {
        if (step.route != i) continue;
        move(step.step, step.calls);
        stepped += step.calls;
      }
    }
    if (stepped < row.calls) move(row.first_step, row.calls - stepped);
  }
  for (const auto& [names, calls] : moves) effect.moves.push_back({names.first, names.second, calls});
  std::stable_sort(effect.moves.begin(), effect.moves.end(),
                   [](const EffectMove& a, const EffectMove& b) { return a.calls > b.calls; });
  return effect;
}

QStringList move_texts(const Effect& effect) {
  QStringList lines;
  for (const EffectMove& move : effect.moves) {
    lines << counted(move.calls, QCoreApplication::translate("Effect", "call")) +
                 (move.calls == 1 ? QCoreApplication::translate("Effect", " moves ")
                                  : QCoreApplication::translate("Effect", " move ")) +
                 move.from + QStringLiteral(" → ") + move.to;
  }
  return lines;
}

}  // namespace attn::ui
