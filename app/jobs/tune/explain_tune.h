// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/tune/tune_space.h"

#include <string>
#include <vector>

// Why a choice is as it is, in words. Private to tune/.
namespace attn::app {

/// "1.42x"; "0.80x" is slower.
[[nodiscard]] std::string times_text(double factor);
/// "3.1 %".
[[nodiscard]] std::string percent_of(double share);
/// "cosine 0.9996 at least 0.99, PSNR 41.2 dB at least 40 dB": the limits that a row keeps.
[[nodiscard]] std::string kept_limits(const LeverRow& row, const TuneLimits& limits);

/// One pick for each kind of call that `chosen` has, next to what `standard`, the default's row (null: it could not be
/// measured), takes for it. `table` has the alternatives.
[[nodiscard]] std::vector<TunePick> picks_of(const LeverRow& chosen, const LeverRow* standard, const LeverResult& table,
                                             const TuneLimits& limits);

}  // namespace attn::app
