// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/profile/schedule.h"
#include "core/engine/engine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attn::app {

/// What the math kernel would hold for a job, the worst call of it.
struct MathForecast {
  std::string call;  ///< "transformer q[1, 24, 27280, 128]"
  std::int64_t bytes = 0;
  std::optional<std::int64_t> limit;  ///< of the target
  std::int64_t calls = 0;             ///< calls of the job that math serves

  [[nodiscard]] bool over() const noexcept { return limit && bytes > *limit; }
  /// "only the math kernel runs on gfx1200: transformer q[...] takes 66.54 GiB (71443046400 bytes) beyond its tensors,
  /// over the 15.92 GiB that it has".
  [[nodiscard]] std::string sentence(const Target& target) const;
};

/// Asks the chain in force about every distinct call. Nullopt when the target has more than the math kernel, or when
/// no call goes to it.
[[nodiscard]] std::optional<MathForecast> math_forecast(const Engine& engine, const CallSchedule& schedule);

}  // namespace attn::app
