// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/attention_request.h"
#include "core/registry/constraints.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// Which attn_mask a dispatcher's backend takes.
enum class MaskRule : std::uint8_t {
  any,          ///< every mask
  refused,      ///< none
  key_lengths,  ///< a boolean one, which is reduced to how many keys each batch element has
  plain,        ///< none, or one that has 2 or 4 dims
};
/// Which element types it takes; q, k and v have the same one in each case.
enum class DtypeRule : std::uint8_t { any, half, bfloat16 };

/// One backend of the diffusers attention dispatcher (as of 2026-08-23), and what it checks of a call.
struct DispatcherBackend {
  std::string_view name;
  std::string_view needs;  ///< package and version; empty: nothing but torch
  DtypeRule dtype = DtypeRule::any;
  MaskRule mask = MaskRule::any;
  CapabilityGate gate{};
  bool accelerator = false;       ///< q must be on a CUDA type device
  bool causal_or_mask = false;    ///< causal together with a mask is refused
  std::int32_t max_head_dim = 0;  ///< 0: no limit of its own
  DeviceNeed device = DeviceNeed::any;
  bool through_torch = false;  ///< calls torch's attention under a kernel selection
};

/// All of them, in the dispatcher's order. The first is native.
[[nodiscard]] std::span<const DispatcherBackend> dispatcher_backends() noexcept;
/// By name in any case; null when the dispatcher has none of that name.
[[nodiscard]] const DispatcherBackend* find_dispatcher_backend(std::string_view name);

/// The checks as the router knows them. Rules that it has no check for are left to refusal_of().
[[nodiscard]] Constraints constraints_of(const DispatcherBackend& backend) noexcept;
/// What the checks of constraints_of() cannot say: a mask that is not boolean, a dtype, causal beside a mask. A
/// static clause, empty when the call is taken.
[[nodiscard]] std::string_view refusal_of(const DispatcherBackend& backend, const AttentionCall& call) noexcept;

}  // namespace attn
