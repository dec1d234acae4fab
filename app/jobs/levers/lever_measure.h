// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/compare/compare.h"
#include "app/jobs/levers/lever_job.h"

#include <chrono>
#include <string>
#include <vector>

// What both kinds of lever jobs share. Private to levers/.
namespace attn::app {

/// The middle one, or the mean of the two in the middle; 0 for none.
[[nodiscard]] double median_of(std::vector<double> values);

/// Puts the error of one more call into its route: the worst counts.
void note_error(LeverRoute& route, const TensorView& exact, const TensorView& result);

/// The larger of two amounts of which each may be unknown.
[[nodiscard]] std::optional<std::int64_t> larger(std::optional<std::int64_t> a, std::optional<std::int64_t> b);

/// Bytes that a call takes on the target: its tensors and what `engine` says its kernel takes beyond them. Error: more
/// than `available`.
[[nodiscard]] Expected<std::int64_t> forecast_bytes(const Engine& engine, const LeverCall& call,
                                                    std::int64_t available);

/// "sage", "sdnq+sparse".
[[nodiscard]] std::string served_by(std::string_view executed, bool sparse);

/// Calls run() and returns its seconds.
template <class Run>
double seconds_of(Run&& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace attn::app
