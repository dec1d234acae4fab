// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdnq/sdnq.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/sdnq/sdnq_operands.h"
#include "backends/sdnq/sdnq_options.h"
#include "backends/simd/exact_kernel.h"
#include "backends/simd/int8_tiles.h"

#include <array>
#include <new>

namespace attn {
namespace {

constexpr int kFirstE4m3Capability = 89;

/// Query-key format first, probability-value format second.
std::string_view variant_name(NumberFormat qk, NumberFormat pv) noexcept {
  static constexpr std::array<std::array<std::string_view, 4>, 4> kNames{{
      {"exact", "int8 pv", "fp8 pv", "fp16 pv"},
      {"int8", "int8+int8 pv", "int8+fp8 pv", "int8+fp16 pv"},
      {"fp8", "fp8+int8 pv", "fp8+fp8 pv", "fp8+fp16 pv"},
      {"fp16", "fp16+int8 pv", "fp16+fp8 pv", "fp16+fp16 pv"},
  }};
  return kNames[static_cast<std::size_t>(qk)][static_cast<std::size_t>(pv)];
}

class SdnqKernel final : public AttentionKernel {
 public:
  explicit SdnqKernel(SdnqOptions options) : options_(std::move(options)) {}

  [[nodiscard]] KernelResult route(const AttentionCall&, const BlockSelection*) const noexcept override {
    return {"sdnq", variant_name(options_.qk, options_.pv), {}};
  }

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    KernelResult result = route(call, selection);
    result.failure = refusal(call, selection);
    if (!result.failure.empty()) return result;
    try {
      const std::optional<Int8Arithmetic> int8 = sdnq_int8(options_, call);
      if (int8 && int8_takes(selection, *int8)) {
        int8_attention(call, selection, *int8);
      } else {
        tiled_attention(call, selection, SdnqOperands(call, options_), sdnq_arithmetic(options_, call.value.dtype));
      }
    } catch (const std::bad_alloc&) {
      result.failure = kOutOfMemory;
    }
    return result;
  }

  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    const CallSizes sizes = sizes_of(call);
    const std::int64_t queries = sizes.batch * sizes.heads * sizes.query_tokens;
    const std::int64_t keys = sizes.batch * sizes.kv_heads * sizes.key_tokens;
    KernelForecast forecast{route(call, selection), 0, {}, {}};
    // Numbers and one fp32 factor per token.
    if (options_.qk != NumberFormat::none)
      forecast.memory_bytes += (queries + keys) * (sizes.head_dim * bytes_of(options_.qk) + 4);
    if (options_.pv != NumberFormat::none)
      forecast.memory_bytes += keys * (sizes.value_dim * bytes_of(options_.pv) + 4);
    forecast.choices = {
        {"matmul type", options_.matmul_type, std::string(variant_name(options_.qk, NumberFormat::none)), true, {}},
        {"pv matmul type",
         options_.pv_matmul_type,
         std::string(variant_name(options_.pv, NumberFormat::none)),
         true,
         {}},
    };
    if (selection != nullptr) {
      if (const auto fits = check_selection(call, *selection); !fits) forecast.warnings.push_back(fits.error());
    }
    return forecast;
  }

 private:
  SdnqOptions options_;
};

const char* boolean(bool value) noexcept { return value ? "True" : "False"; }

std::string log_line(const SdnqOptions& options) {
  return "Torch attention: type=\"SDNQ attention\" matmul=" + options.matmul_type + ":" + options.pv_matmul_type +
         " smooth=" + boolean(options.smooth_k) + " hadamard=" + boolean(options.use_hadamard) +
         " quantize_fp32=" + boolean(options.quantize_fp32) + " fp16_accum=" + boolean(options.use_fp16_accum) +
         " block_mask=True";
}

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  const Expected<SdnqOptions> options = read_sdnq_options(context.options);
  if (!options) return fail(options.error());
  const Target& target = context.target;
  const bool e4m3 = options->qk == NumberFormat::e4m3 || options->pv == NumberFormat::e4m3;
  if (e4m3 && target.platform == "cuda" && target.capability && *target.capability < kFirstE4m3Capability) {
    return fail("float8_e4m3fn needs compute capability 8.9 or later, the target has " +
                std::to_string(*target.capability / 10) + "." + std::to_string(*target.capability % 10));
  }
  return PreparedBackend{
      cuda::int8_on_gpu(target, std::make_shared<SdnqKernel>(*options),
                        [chosen = *options](const AttentionCall& call) { return sdnq_on_gpu(chosen, call); }),
      std::nullopt, log_line(*options)};
}

}  // namespace

BackendSpec sdnq_backend() {
  BackendSpec spec;
  spec.name = "sdnq";
  spec.label = "SDNQ attention";
  spec.priority = 60;
  spec.constraints.same_dtype = true;
  spec.constraints.min_tokens = 32;
  spec.constraints.min_long_side = 512;
  spec.constraints.min_heads = 2;
  spec.capabilities = {true, true};
  spec.options = sdnq_option_specs();
  spec.help =
      "Quantised attention with a choice of number formats, for long sequences; takes masks and block selections.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
