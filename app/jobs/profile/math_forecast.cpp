// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/math_forecast.h"

#include "app/jobs/profile/profile_job.h"
#include "app/jobs/tensors/generated.h"

namespace attn::app {

std::string MathForecast::sentence(const Target& target) const {
  std::string text = "only the math kernel runs on " + target.label + ": " + call + " takes " + bytes_text(bytes) +
                     " (" + std::to_string(bytes) + " bytes) beyond its tensors";
  if (limit)
    text += over() ? ", over the " + bytes_text(*limit) + " that it has"
                   : ", within the " + bytes_text(*limit) + " that it has";
  return text;
}

std::optional<MathForecast> math_forecast(const Engine& engine, const CallSchedule& schedule) {
  const Target target = engine.plan()->target();
  if (!target.math_only) return std::nullopt;
  MathForecast worst;
  worst.limit = target.memory_bytes;
  for (const DistinctCall& distinct : schedule.distinct) {
    if (distinct.times == 0) continue;
    const AttentionCall call = schedule.devices_stated ? distinct.call : placed_on(target, distinct.call);
    const Explanation explanation = engine.explain(call, distinct.role, 0);
    if (explanation.kernel != "math") continue;
    worst.calls += distinct.times;
    if (explanation.memory_bytes <= worst.bytes) continue;
    worst.bytes = explanation.memory_bytes;
    worst.call = std::string(name_of(distinct.role)) + " q" + shape_text(call.query.sizes()) + " k" +
                 shape_text(call.key.sizes());
  }
  if (worst.calls == 0) return std::nullopt;
  return worst;
}

}  // namespace attn::app
