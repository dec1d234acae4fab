// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/profile/schedule.h"
#include "core/layout/token_layout.h"
#include "trace/routes/route_table.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attn::app {

/// A route to measure and the settings that it was served under.
struct ErrorJobRequest {
  trace::RouteRow route;
  Target target;
  OptionValues values;
  AttentionChoices attention;
  PipelineInfo pipeline;
  std::int64_t steps = 1;
  std::optional<TokenLayout> layout;  ///< of its token sequence, where the run published one
};

struct ErrorJobResult {
  double relative_l1 = 0.0;
  double cosine = 1.0;
  std::string piece;        ///< "4 of 24 heads, 20 480 of 75 600 tokens"; empty: the whole call
  bool structured = false;  ///< on values that attend as a model's do, in which a selection can be right
};

/// Heads, batch elements and tokens of a route's call that are measured: an error is a mean over independent rows, so
/// a few heads say what all do. `seconds` is what exact attention would take for the call with those heads.
[[nodiscard]] trace::RouteRow fewer_heads(const trace::RouteRow& route);
[[nodiscard]] trace::RouteRow fewer_tokens(const trace::RouteRow& route, double seconds);

/// Computes one call of the route exactly and as it was served, in engines of its own. Error: the call goes elsewhere
/// when it is made alone, nobody serves it, or it does not fit into memory. `done` is called on the job's thread.
[[nodiscard]] std::unique_ptr<Job> make_error_job(ErrorJobRequest request,
                                                  std::function<void(const ErrorJobResult&)> done);

}  // namespace attn::app
