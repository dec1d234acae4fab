// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/profile/profile.h"
#include "app/jobs/profile/schedule.h"

#include <memory>

namespace attn::app {

/// How much of a profile is really computed.
enum class Compute : std::uint8_t {
  none,             ///< planned: routes only, no data, milliseconds
  representatives,  ///< one call per distinct route is computed with generated tensors; the others are counted
  all,              ///< every call is computed
};

/// What to run.
struct ProfileRequest {
  Profile profile;
  ProfileInputs inputs;
  Compute compute = Compute::none;
  std::uint64_t seed = 0;  ///< of the generated tensors
  bool compiled = false;   ///< as make_schedule_job()
};

/// The exact calls of a real model, in the order a generation makes them: prompt encoding, denoiser steps with
/// role and step, decoding. Error: inputs that the profile does not have or cannot evaluate.
[[nodiscard]] Expected<std::unique_ptr<Job>> make_profile_job(const ProfileRequest& request);

/// The same for any schedule. A computed job first checks that every call it will compute fits into memory and is
/// refused as a whole when one does not; with representatives, one call of each distinct signature and sparse budget
/// is computed and observed as computed, so its time times the calls of its route is the route's estimate.
/// `compiled`: routes are chosen once per call site; where every call is computed and a GPU computes them, the calls of
/// a forward are recorded once and run as one for every step.
[[nodiscard]] std::unique_ptr<Job> make_schedule_job(CallSchedule schedule, Compute compute, std::uint64_t seed,
                                                     bool compiled = false);

/// A call of a schedule as this target has it: on the cpu where the target is one.
[[nodiscard]] AttentionCall placed_on(const Target& target, AttentionCall call);

}  // namespace attn::app
