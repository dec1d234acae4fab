// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/registry/constraints.h"
#include "core/registry/target.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// Which of sdpa's kernels the settings allow.
struct SdpaFlags {
  bool flash = true;
  bool memory_efficient = true;
  bool math = true;
  [[nodiscard]] bool any() const noexcept { return flash || memory_efficient || math; }
};

enum class SdpaVariant : std::uint8_t { flash, memory_efficient, math, none };
/// "flash", "memory-efficient", "math"; empty for none.
[[nodiscard]] std::string_view name_of(SdpaVariant variant) noexcept;

/// Chooses the kernel as torch does (aten/native/transformers, sdp_utils): the first of flash, memory-efficient and
/// math that is enabled and takes the call. A query on the cpu follows the cpu's rules whatever the target is: there
/// flash takes masks and fp32, and a memory-efficient kernel does not exist.
class SdpaChooser {
 public:
  SdpaChooser(SdpaFlags flags, const Target& target);

  [[nodiscard]] SdpaVariant choose(const AttentionCall& call) const noexcept;
  /// One verdict per kernel, in the order in which they are asked.
  [[nodiscard]] std::vector<Verdict> explain(const AttentionCall& call) const;
  [[nodiscard]] const SdpaFlags& flags() const noexcept { return flags_; }
  [[nodiscard]] bool on_cpu(const AttentionCall& call) const noexcept { return cpu_ || call.query.device.is_cpu(); }

 private:
  /// Why a kernel declines the call, as a static clause; empty when it takes it.
  [[nodiscard]] std::string_view flash_declines(const AttentionCall& call) const noexcept;
  [[nodiscard]] std::string_view memory_efficient_declines(const AttentionCall& call) const noexcept;

  SdpaFlags flags_;
  bool cpu_;
  bool math_only_;  ///< a probe found that nothing but math runs there
  int capability_;  ///< 0: unknown, or not a CUDA one
};

}  // namespace attn
