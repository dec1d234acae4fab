// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "core/call/attention_call.h"
#include "core/layout/token_layout.h"
#include "ui/sparse/sparse_service.h"

#include <functional>
#include <memory>
#include <optional>

namespace attn::app {

/// Seconds of one dense run above which a sweep takes fewer tokens: it runs about twenty of them.
inline constexpr double kLongestDense = 20.0;

/// What to sweep.
struct SweepJobRequest {
  trace::RouteIdentity route;
  AttentionCall call;  ///< no data, no mask, contiguous
  std::optional<TokenLayout> layout;
  bool head_shared = false;
  QStringList notes;
};

/// The largest number of tokens, a multiple of 128, whose dense run should take at most kLongestDense when `tokens`
/// of them took `seconds`; `tokens` when that is short enough. Never below 1,024.
[[nodiscard]] std::int64_t tokens_within(std::int64_t tokens, double seconds) noexcept;

/// The layout with its sparsifiable spans shortened so that it has `tokens`; other spans keep their length. nullopt
/// when there is no room for that.
[[nodiscard]] std::optional<TokenLayout> shortened(const TokenLayout& layout, std::int64_t tokens);

/// Estimates the dense time on a short piece, shortens a call that would take too long or too much memory, generates
/// structured tensors and measures every budget. `publish` is called on the job's thread with all that is known.
[[nodiscard]] std::unique_ptr<Job> make_sweep_job(SweepJobRequest request,
                                                  std::function<void(const ui::SweepState&)> publish);

}  // namespace attn::app
