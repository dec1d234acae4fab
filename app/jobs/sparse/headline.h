// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/registry.h"
#include "core/router/plan.h"
#include "trace/collector.h"

#include <cstdint>
#include <string>

namespace attn::app {

/// How much of a job the sparse stage served.
struct SparseHeadline {
  bool on = false;  ///< the settings that the chain was built with ask for the stage
  std::int64_t served = 0;
  std::int64_t calls = 0;
  std::string reason;  ///< why it served nothing, with the remedy; empty when it served something or is off
  /// "Sparse is on but served 0 of 40 calls: no enabled backend takes a block mask: enable sdnq or flex",
  /// "Sparse served 38 of 40 calls"; empty when it is off.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] SparseHeadline sparse_headline(const Registry& registry, const Plan& plan,
                                             const trace::TraceSnapshot& snapshot);

}  // namespace attn::app
