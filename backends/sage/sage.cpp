// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sage/sage.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/sage/sage_variant.h"
#include "backends/simd/exact_kernel.h"
#include "backends/simd/int8_tiles.h"
#include "backends/simd/quantise.h"
#include "backends/simd/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace attn {
namespace {

/// Operands of SageAttention. Folding scale * log2(e) into the query before it is quantised, as the Triton kernel does,
/// scales the numbers and their factor alike and is left out.
class SageOperands final : public OperandSource {
 public:
  SageOperands(const AttentionCall& call, const SageVariant& variant) : call_(call), exact_(call), variant_(variant) {}

  void load_keys_values(std::int64_t batch, std::int64_t kv_head, HeadOperands& out) const override {
    exact_.load_keys_values(batch, kv_head, out);
    const std::int64_t tokens = call_.key_tokens();
    subtract_mean(out.keys.data(), tokens, out.key_width, DType::float32);
    quantise_sage(variant_, true, out.keys.data(), tokens, out.key_width, out.key_factor);
    if (variant_.value_range == 0.0F) {
      for (float& value : out.values) value = round_to_half(value);
    } else {
      narrow_channels(out, tokens);
    }
  }

  void load_queries(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count,
                    QueryOperands& out) const override {
    exact_.load_queries(batch, head, first, count, out);
    quantise_sage(variant_, false, out.rows.data(), count, call_.head_dim(), out.factor);
  }

 private:
  /// e4m3 with one factor per channel over all tokens.
  void narrow_channels(HeadOperands& out, std::int64_t tokens) const {
    const std::int64_t width = out.value_width;
    out.channel_factor.assign(static_cast<std::size_t>(width), 0.0F);
    float* factor = out.channel_factor.data();
    for (std::int64_t j = 0; j < tokens; ++j) {
      const float* row = out.values.data() + j * width;
      for (std::int64_t d = 0; d < width; ++d) factor[d] = std::max(factor[d], std::fabs(row[d]));
    }
    for (std::int64_t d = 0; d < width; ++d) factor[d] = factor[d] == 0.0F ? 1.0F : factor[d] / variant_.value_range;
    for (std::int64_t j = 0; j < tokens; ++j) {
      float* row = out.values.data() + j * width;
      for (std::int64_t d = 0; d < width; ++d) row[d] = round_to_e4m3(row[d] / factor[d]);
    }
  }

  const AttentionCall& call_;
  ExactOperands exact_;
  SageVariant variant_;
};

constexpr int kFp16ValuesCapability = 80;

class SageKernel final : public AttentionKernel {
 public:
  SageKernel(const SageVariant& variant, const Target& target) : variant_(variant) {
    if (target.platform == "cuda" && target.capability) capability_ = *target.capability;
    on_gpu_ = target.device.has_value();
    arithmetic_.query_tile = variant.query_block;
    arithmetic_.key_tile = variant.key_block;
    arithmetic_.probabilities = variant.value_range == 0.0F ? Probabilities::fp16 : Probabilities::e4m3_static;
    arithmetic_.values = variant.accumulator;
  }

  [[nodiscard]] KernelResult route(const AttentionCall&, const BlockSelection* selection) const noexcept override {
    return {"sage", variant_.name, selection != nullptr ? kTakesNoSelection : std::string_view()};
  }

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    KernelResult result = route(call, selection);
    if (result.failure.empty()) result.failure = refusal(call, selection);
    if (!result.failure.empty()) return result;
    try {
      if (variant_.value_range == 0.0F && variant_.accumulator == Accumulator::fp32) {
        int8_attention(call, nullptr, sage_int8(variant_, call));
      } else {
        tiled_attention(call, nullptr, SageOperands(call, variant_), arithmetic_);
      }
    } catch (const std::bad_alloc&) {
      result.failure = kOutOfMemory;
    }
    return result;
  }

  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    const CallSizes sizes = sizes_of(call);
    const std::int64_t value_bytes = variant_.value_range == 0.0F ? 2 : 1;
    const std::int64_t queries = sizes.batch * sizes.heads * sizes.query_tokens;
    const std::int64_t keys = sizes.batch * sizes.kv_heads * sizes.key_tokens;
    const std::int64_t bytes = (queries + keys) * sizes.head_dim + keys * sizes.value_dim * value_bytes;
    return {route(call, selection), bytes, choices(), {}};
  }

 private:
  [[nodiscard]] std::vector<Verdict> choices() const {
    const std::string have = capability_ == 0
                                 ? std::string("not stated")
                                 : std::to_string(capability_ / 10) + "." + std::to_string(capability_ % 10);
    const std::string arch = "compute capability " + have + (on_gpu_ ? " with fp16 values on this machine's GPU" : "");
    std::vector<Verdict> verdicts;
    const auto add = [&](std::string_view kernel, std::string_view needs, std::string_view declined) {
      const bool chosen = kernel == variant_.name;
      verdicts.push_back({kernel, std::string(needs), have, chosen,
                          chosen ? "chosen for " + arch : arch + ": " + std::string(declined)});
    };
    constexpr std::string_view kOther = "another kernel serves this architecture";
    add("cuda fp32-accum", "8.0, 8.6", kOther);
    add("cuda fp8", "8.9, 12.0, 12.1", kOther);
    add("cuda fp8 sm90", "9.0", kOther);
    const bool nan = capability_ == 80 || capability_ == 86;
    add("triton", "no CUDA capability known", nan ? "the Triton kernel gives NaN here" : kOther);
    return verdicts;
  }

  SageVariant variant_;
  Arithmetic arithmetic_;
  int capability_ = 0;
  bool on_gpu_ = false;
};

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  // On this machine's GPU the values are fp16: the library has that kernel for every architecture from 8.0 on.
  Target architecture = context.target;
  if (architecture.device) architecture.capability = kFp16ValuesCapability;
  const Expected<SageVariant> variant = sage_variant_for(architecture);
  if (!variant) return fail(variant.error());
  const bool chosen_by_hand = context.target.platform == "cuda" && context.target.capability == 86;
  return PreparedBackend{
      cuda::int8_on_gpu(context.target, std::make_shared<SageKernel>(*variant, context.target),
                        [chosen = *variant](const AttentionCall& call) { return sage_on_gpu(chosen, call); }),
      std::nullopt,
      std::string("Torch attention: type=\"Sage attention\" backend=") + (chosen_by_hand ? "cuda" : "auto")};
}

}  // namespace

BackendSpec sage_backend() {
  BackendSpec spec;
  spec.name = "sage";
  spec.label = "Sage attention";
  spec.priority = 50;
  spec.constraints.allow_mask = false;
  spec.constraints.same_device = true;
  spec.constraints.same_dtype = true;
  spec.constraints.head_dims = {64, 96, 128, 0};
  spec.constraints.max_offset_reach = std::numeric_limits<std::int32_t>::max();
  spec.help =
      "INT8 attention with smoothed keys: faster than exact kernels at a small error, for calls without a mask.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
