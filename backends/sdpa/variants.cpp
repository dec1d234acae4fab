// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdpa/variants.h"

#include <string>

namespace attn {
namespace {

constexpr std::int64_t kFlashHeadDim = 256;

bool is_half(DType dtype) noexcept { return dtype == DType::float16 || dtype == DType::bfloat16; }

bool one_dtype(const AttentionCall& call) noexcept {
  return call.key.dtype == call.query.dtype && call.value.dtype == call.query.dtype;
}

bool grouped(const AttentionCall& call) noexcept { return call.kv_heads() != call.heads(); }

bool unit_steps(const AttentionCall& call) noexcept {
  return call.query.step(-1) == 1 && call.key.step(-1) == 1 && call.value.step(-1) == 1;
}

/// What every fused kernel asks of a call.
std::string_view fused_declines(const AttentionCall& call) noexcept {
  if (call.query.rank != 4 || call.key.rank != 4 || call.value.rank != 4) return "takes rank 4 only";
  if (call.query_tokens() == 0 || call.key_tokens() == 0) return "takes no empty sequence";
  if (!one_dtype(call)) return "needs q, k, v of one dtype";
  if (call.head_dim() > 1 && !unit_steps(call)) return "needs contiguous head_dim";
  if (call.is_causal && call.attn_mask) return "takes causal or a mask, not both";
  return {};
}

std::string call_text(const AttentionCall& call) {
  std::string text = std::string(short_name_of(call.query.dtype)) + ", head_dim " + std::to_string(call.head_dim());
  if (call.attn_mask) text += call.attn_mask->dtype == DType::boolean ? ", bool mask" : ", float mask";
  if (grouped(call)) text += ", gqa " + std::to_string(call.heads()) + "/" + std::to_string(call.kv_heads());
  if (call.is_causal) text += ", causal";
  if (call.query.rank != 4) text += ", rank " + std::to_string(call.query.rank);
  return text;
}

}  // namespace

std::string_view name_of(SdpaVariant variant) noexcept {
  switch (variant) {
    case SdpaVariant::flash:
      return "flash";
    case SdpaVariant::memory_efficient:
      return "memory-efficient";
    case SdpaVariant::math:
      return "math";
    case SdpaVariant::none:
      return {};
  }
  return {};
}

SdpaChooser::SdpaChooser(SdpaFlags flags, const Target& target)
    : flags_(flags),
      cpu_(target.is_cpu()),
      math_only_(target.math_only),
      capability_(target.platform == "cuda" && target.capability ? *target.capability : 0) {}

std::string_view SdpaChooser::flash_declines(const AttentionCall& call) const noexcept {
  if (!flags_.flash) return "not ticked in sdp_options";
  if (math_only_) return "does not run here: the probe found math only";
  if (const std::string_view fused = fused_declines(call); !fused.empty()) return fused;
  if (call.value_dim() != call.head_dim()) return "needs one head_dim for q, k and v";
  if (on_cpu(call)) return {};
  if (call.attn_mask) return "takes no attn_mask";
  if (!is_half(call.query.dtype)) return "takes half precision only";
  if (call.head_dim() > kFlashHeadDim) return "takes head_dim up to 256";
  if (call.is_causal && call.query_tokens() != call.key_tokens()) return "takes causal only where Sq = Sk";
  if (capability_ != 0 && capability_ < 80) return "needs compute capability 8.0";
  return {};
}

std::string_view SdpaChooser::memory_efficient_declines(const AttentionCall& call) const noexcept {
  if (on_cpu(call)) return "does not exist on the cpu";
  if (!flags_.memory_efficient) return "not ticked in sdp_options";
  if (math_only_) return "does not run here: the probe found math only";
  if (const std::string_view fused = fused_declines(call); !fused.empty()) return fused;
  if (grouped(call)) return "takes no grouped heads (enable_gqa)";
  const bool half = is_half(call.query.dtype);
  if (!half && call.query.dtype != DType::float32) return "takes half precision and fp32 only";
  if (call.query.dtype == DType::bfloat16 && capability_ != 0 && capability_ < 80) {
    return "needs compute capability 8.0 for bf16";
  }
  const bool old = capability_ != 0 && capability_ < (half ? 70 : 80);  // no matrix units: any alignment will do
  const std::int64_t alignment = old ? 1 : half ? 8 : 4;
  if (call.head_dim() % alignment != 0 || call.value_dim() % alignment != 0) {
    return half ? "needs head_dim in multiples of 8" : "needs head_dim in multiples of 4";
  }
  return {};
}

SdpaVariant SdpaChooser::choose(const AttentionCall& call) const noexcept {
  if (flash_declines(call).empty()) return SdpaVariant::flash;
  if (memory_efficient_declines(call).empty()) return SdpaVariant::memory_efficient;
  return flags_.math ? SdpaVariant::math : SdpaVariant::none;
}

std::vector<Verdict> SdpaChooser::explain(const AttentionCall& call) const {
  const bool cpu = on_cpu(call);
  const std::string actual = call_text(call);
  std::vector<Verdict> verdicts;
  const auto add = [&](std::string_view kernel, std::string_view required, std::string_view declined) {
    verdicts.push_back({kernel, std::string(required), actual, declined.empty(), std::string(declined)});
  };
  add("flash", cpu ? "rank 4, one head_dim" : "rank 4, half precision, no mask, head_dim <= 256", flash_declines(call));
  add("memory-efficient", cpu ? "an accelerator" : "rank 4, no grouped heads", memory_efficient_declines(call));
  add("math", "any call", flags_.math ? std::string_view() : "not ticked in sdp_options");
  return verdicts;
}

}  // namespace attn
