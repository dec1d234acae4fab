// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/profile/schedule.h"
#include "core/engine/engine.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// One distinct call, computed several times on the same tensors.
struct RepeatRow {
  std::string call;  ///< in the written notation, with its role
  Role role = Role::transformer;
  std::string backend;  ///< executed
  std::string kernel;
  int runs = 0;
  int identical = 0;         ///< runs whose output has the first one's bits, the first included
  std::int64_t max_ulp = 0;  ///< largest distance in units of the last place; NaN against a number counts as all of it
  std::string failure;

  [[nodiscard]] bool deterministic() const noexcept { return failure.empty() && identical == runs; }
  /// "bit-identical 3/3", "not bit-identical, max 1 ulp".
  [[nodiscard]] std::string verdict() const;
};

/// Runs every distinct call `runs` times and compares the bits. Error: a job runs, or a call does not fit into memory.
[[nodiscard]] Expected<std::vector<RepeatRow>> repeat_calls(const CallSchedule& schedule, Engine& engine, int runs,
                                                            std::uint64_t seed, std::stop_token stop);

/// Steps between two values of a float type in the order of their values; 0 for equal bits, also of NaNs.
[[nodiscard]] std::int64_t ulp_distance(const TensorView& a, const TensorView& b) noexcept;

}  // namespace attn::app
