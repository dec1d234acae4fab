// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/registry/target.h"
#include "core/router/explanation.h"
#include "ui/explain/verdict_card.h"
#include "ui/selection/selection.h"

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace attn::ui {

/// What a decision was made about and by.
struct DecisionInput {
  const Explanation& explanation;
  const trace::RouteRow& route;  ///< with why calls stayed dense or fell back so far
  const AttentionCall& call_shape;
  const Target& target;
  std::int32_t step = 0;
  std::optional<SelectedCall> call;  ///< a single one was chosen
  QString pending;                   ///< where the pending edits would send it; empty: there are none
};

/// A line of the configuration.
struct DecisionFact {
  QString name;
  QString text;
};

/// The decision record of a call as it is shown and copied: configuration, who serves and why, memory, every backend
/// with its checks, the stage, and what would have to change.
struct Decision {
  QString headline;
  std::vector<DecisionFact> facts;
  QString backend;  ///< for the colour
  QString served;
  QString reason;
  QString memory;
  QString math;            ///< what the math kernel would take
  bool math_over = false;  ///< more than the target has
  QString pending;
  QStringList warnings;
  std::vector<Card> cards;
  QStringList moves;
};

/// The score matrix that the math kernel holds in fp32.
struct MathMemory {
  std::int64_t bytes = 0;
  bool over = false;  ///< more than the target has
};
[[nodiscard]] MathMemory math_memory(const AttentionCall& call, const Target& target);

/// The cards of an explanation, in the router's order, with the stage before the last. Of backends that are not in
/// the chain only the checks that fail, unless `every_check`.
[[nodiscard]] std::vector<Card> cards_of(const Explanation& explanation, const trace::RouteRow& route,
                                         bool every_check = false);
[[nodiscard]] Decision decide(const DecisionInput& input, bool every_check);
/// The record as plain text.
[[nodiscard]] QString text_of_decision(const Decision& decision);

}  // namespace attn::ui
