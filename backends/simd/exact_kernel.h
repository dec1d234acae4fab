// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/kernel.h"

#include <cstdint>
#include <string_view>

namespace attn {

/// Attention in fp32 without a score matrix, under the name of the backend that it serves.
class ExactKernel final : public AttentionKernel {
 public:
  /// `backend` and `variant` are string literals. Without `block_mask` a selection is refused, not ignored.
  ExactKernel(std::string_view backend, std::string_view variant, bool block_mask)
      : backend_(backend), variant_(variant), block_mask_(block_mask) {}

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override;
  [[nodiscard]] KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override;
  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override;

 private:
  std::string_view backend_;
  std::string_view variant_;
  bool block_mask_;
};

/// Bytes of the log-sum-exp that a flash style kernel keeps: one float per (batch, head, query token).
[[nodiscard]] std::int64_t log_sum_exp_bytes(const AttentionCall& call) noexcept;

/// What a kernel without the block_mask capability says to a selection.
inline constexpr std::string_view kTakesNoSelection = "takes no block selection";
/// What a kernel says when the host runs out of memory while it computes.
inline constexpr std::string_view kOutOfMemory = "the host ran out of memory";

}  // namespace attn
