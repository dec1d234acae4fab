// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/router/plan.h"
#include "trace/routes/route_table.h"
#include "ui/sparse/sparse_service.h"

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::ui {

/// Calls that another backend would serve. "+sparse" stands behind a name where a selection is used.
struct EffectMove {
  QString from;
  QString to;
  std::int64_t calls = 0;
  friend bool operator==(const EffectMove&, const EffectMove&) = default;
};

/// What a chain would do to the calls of a run, against the chain in force.
struct Effect {
  std::vector<EffectMove> moves;   ///< most calls first
  std::int64_t calls = 0;          ///< of the run
  std::int64_t unknown = 0;        ///< calls that cannot be planned anew: the notation has no words for them
  std::int64_t memory_before = 0;  ///< most bytes that one call takes beyond its tensors, under the chain in force
  std::int64_t memory_after = 0;   ///< the same under the wanted one
  std::optional<std::int64_t> target_memory;  ///< of the wanted target

  [[nodiscard]] std::int64_t moved() const noexcept;
  [[nodiscard]] bool over_memory() const noexcept { return target_memory && memory_after > *target_memory; }
  friend bool operator==(const Effect&, const Effect&) = default;
};

/// Plans every distinct route of `run` under both chains, without computing anything; where one has a sparse stage, in
/// each of its steps. Under which chain the run was made does not matter. Calls that a dispatcher served beside the
/// chain stay where they are. Cost: an explanation per distinct route, and per route and step with a sparse stage; the
/// number of calls does not matter. Any thread.
[[nodiscard]] Effect predict_effect(const Registry& registry, const Plan& applied, const Plan& wanted,
                                    const trace::TraceSnapshot& run, const RunFacts& facts);

/// "12 calls move flash → sage"; a line for each move.
[[nodiscard]] QStringList move_texts(const Effect& effect);

}  // namespace attn::ui
