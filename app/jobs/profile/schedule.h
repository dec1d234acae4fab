// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/profile/profile.h"
#include "core/call/call_text.h"
#include "core/context/generation_context.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// A call that a generation makes once or many times. The tensors have no data.
struct DistinctCall {
  AttentionCall call;
  Role role = Role::transformer;
  std::int64_t hidden_keys = 0;  ///< of a written padding mask; 0: as generate() chooses
  std::int64_t times = 0;        ///< in the whole schedule
};

/// The calls of one generation in their order. Memory grows with distinct calls and forwards, not with calls.
struct CallSchedule {
  /// One forward: the calls of a pattern, at a step.
  struct Forward {
    Role role = Role::transformer;
    std::int32_t step = 0;
    std::uint32_t pattern = 0;
  };
  /// The calls of one kind of forward, as indices into `distinct`, and what its token sequence holds.
  struct Pattern {
    std::vector<std::uint32_t> calls;
    std::string slot;  ///< where the component stands in its pipeline
    std::optional<TokenLayout> layout;
  };

  std::string title;
  PipelineInfo pipeline;
  std::int64_t steps = 1;
  std::vector<DistinctCall> distinct;
  std::vector<Pattern> patterns;
  std::vector<Forward> forwards;
  std::int64_t calls = 0;
  bool devices_stated = false;  ///< the calls say where their tensors are; else they are where the target has them
};

/// Prompt encoding (role te, connectors too), denoiser steps, decoding (role vae, at the step after the last).
/// Blocks of several attentions take turns as they do in the model; two denoisers either share every step or follow
/// one another, as their pass counts say. Joint sequences publish their layout where the profile knows the lengths.
/// Error: inputs that the profile does not have or cannot evaluate.
[[nodiscard]] Expected<CallSchedule> make_schedule(const Profile& profile, const ProfileInputs& inputs);

/// The schedule of one written call.
[[nodiscard]] CallSchedule make_schedule(const WrittenCall& written);

}  // namespace attn::app
