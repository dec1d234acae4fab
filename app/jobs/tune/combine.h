// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/tune/tune_space.h"

#include <string>
#include <vector>

// Per-route tuning. Private to tune/.
namespace attn::app {

/// Settings that nobody measured as a whole, put together out of routes that were measured alone.
struct Combination {
  LeverVariant variant;
  double relative_time = 1.0;  ///< of attention, as the routes foretell it
  double worst_cosine = 1.0;
};

/// Every set of override backends with every sparse lever and dispatcher's backend of `space`, judged call by call out
/// of the rows of `table`: the first backend of the chain that accepts a call gets it. Those within `least_cosine`, by
/// time, no two with the same routes. Empty where somebody fixed the overrides.
[[nodiscard]] std::vector<Combination> combine_routes(const LeverJob& job, const Engine& as_set,
                                                      const TuneRequest& request, const TuneSpace& space,
                                                      const LeverResult& table);

}  // namespace attn::app
