// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "trace/routes/route_table.h"

#include <QString>
#include <vector>

namespace attn::ui {

/// One place in the chain as drawn: in force, about to leave or about to join.
struct ChainLink {
  enum class State { stays, leaves, joins };
  QString name;
  State state = State::stays;
  QString note;  ///< what stands under a name that does not stay: "joins · takes a block mask"
  qint64 calls = 0;
  double share = 0.0;  ///< of the run's calls
  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};

/// Names of a plan in the order in which they are asked, the last one always there.
[[nodiscard]] std::vector<QString> chain_names(const Plan& plan);

/// One chain with another drawn into it, both by their names, in the order of the registry; without notes.
[[nodiscard]] std::vector<ChainLink> chain_links(const Registry& registry, const std::vector<QString>& now,
                                                 const std::vector<QString>& then, const trace::TraceSnapshot& run);

/// The chain in force with the wanted one drawn into it, in the order of the registry. `wanted` may be the same plan.
[[nodiscard]] std::vector<ChainLink> chain_links(const Registry& registry, const Plan& applied, const Plan& wanted,
                                                 const trace::TraceSnapshot& run);

}  // namespace attn::ui
