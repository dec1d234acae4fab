// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/layers.h"
#include "app/jobs/pipeline/weights.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attn::app {

// What the three networks share. Private to pipeline/.

/// Slots of Task::memory that a network's tasks use; 0 is the layers' own.
constexpr std::size_t kNormedSlot = 1;  ///< (Linear::kRows, width): what goes into a product
constexpr std::size_t kHiddenSlot = 2;  ///< (Linear::kRows, 4 width): its wide results
constexpr std::size_t kResultSlot = 3;  ///< (Linear::kRows, width): what is added to the tokens

[[nodiscard]] inline std::vector<float> kept(std::span<const float> values) { return {values.begin(), values.end()}; }

/// The layer `name`.weight with `name`.bias.
[[nodiscard]] inline Linear linear(Weights& weights, const std::string& name, std::int64_t inputs, std::int64_t outputs,
                                   Activation activation = Activation::none, std::int64_t rows = Linear::kRows) {
  return {weights.take(name + ".weight", {outputs, inputs}),
          weights.take(name + ".bias", {outputs}),
          inputs,
          outputs,
          activation,
          rows};
}

/// Calls body(first, count, task) for `rows` rows in pieces of Linear::kRows; the last one may be shorter.
template <class Body>
void for_chunks(Role role, std::int64_t rows, Workers& workers, const Body& body) {
  workers.run(role, (rows + Linear::kRows - 1) / Linear::kRows, [&](std::int64_t at, Task& task) {
    const std::int64_t first = at * Linear::kRows;
    body(first, std::min(Linear::kRows, rows - first), task);
  });
}

}  // namespace attn::app
