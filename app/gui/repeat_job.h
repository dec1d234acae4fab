// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/compare/repeat.h"
#include "app/jobs/job.h"

#include <functional>
#include <memory>

namespace attn::app {

/// Computes every distinct call of a schedule three times on the same tensors. `done` gets the rows, or the error, on
/// the job's thread before it ends.
[[nodiscard]] std::unique_ptr<Job> make_repeat_job(CallSchedule schedule,
                                                   std::function<void(const Expected<std::vector<RepeatRow>>&)> done);

}  // namespace attn::app
