// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/math_probe.h"
#include "core/registry/registry.h"

namespace attn {

/// A tiny call through each of torch's kernels as they are here. For a target whose hardware is not in this machine
/// nobody can know: then it is empty and a probe with it says nothing.
[[nodiscard]] TinyCall tiny_call_on(const Registry& registry, const Target& target);

/// One of torch's kernels: what the switches say beside what the probe found.
struct KernelRow {
  std::string_view kernel;
  bool switched_on = false;
  Support runs = Support::unknown;
  std::string reason;
  std::string_view option{};  ///< its name in `sdp_options`; empty: there is no switch
};
/// One row per kernel, for a page that shows both. cudnn has no switch of its own and counts as on.
[[nodiscard]] std::vector<KernelRow> kernel_rows(const OptionList& switches, const KernelProbe& probe);

}  // namespace attn
