// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/exact_kernel.h"

#include "backends/simd/exact_tiles.h"

#include <new>

namespace attn {

std::int64_t log_sum_exp_bytes(const AttentionCall& call) noexcept {
  return call.query.size(-5) * call.query.size(-4) * call.heads() * call.query_tokens() * 4;
}

KernelResult ExactKernel::run(const AttentionCall& call, const BlockSelection* selection) const {
  KernelResult result = route(call, selection);
  if (result.failure.empty()) result.failure = refusal(call, selection);
  if (!result.failure.empty()) return result;
  try {
    exact_attention(call, selection);
  } catch (const std::bad_alloc&) {
    result.failure = kOutOfMemory;
  }
  return result;
}

KernelResult ExactKernel::route(const AttentionCall&, const BlockSelection* selection) const noexcept {
  return {backend_, variant_, selection != nullptr && !block_mask_ ? kTakesNoSelection : std::string_view()};
}

KernelForecast ExactKernel::forecast(const AttentionCall& call, const BlockSelection* selection) const {
  KernelForecast forecast{route(call, selection), log_sum_exp_bytes(call), {}, {}};
  if (selection != nullptr) {
    if (const auto fits = check_selection(call, *selection); !fits) forecast.warnings.push_back(fits.error());
  }
  return forecast;
}

}  // namespace attn
