// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdpa/sdpa.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/sdpa/math_attention.h"
#include "backends/sdpa/variants.h"
#include "backends/simd/exact_kernel.h"
#include "backends/simd/exact_tiles.h"

#include <cstdio>
#include <new>

namespace attn {
namespace {

constexpr std::string_view kFlagsKey = "sdp_options";
constexpr std::string_view kNothingTicked = "no sdpa kernel is enabled: tick Flash, Memory or Math in sdp_options";
constexpr std::string_view kNothingFits = "no enabled sdpa kernel takes this call: tick Math in sdp_options";

std::string with_unit(double value, const char* unit, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

std::string gigabytes(std::int64_t bytes, int decimals) {
  return with_unit(static_cast<double>(bytes) / 1e9, "GB", decimals);
}

std::string gibibytes(std::int64_t bytes) {
  return with_unit(static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0), "GiB", 2);
}

/// "32*27000^2*4", with the batch in front where there is more than one.
std::string score_matrix_product(const AttentionCall& call) {
  const std::int64_t batch = call.query.size(-5) * call.query.size(-4);
  std::string text = batch > 1 ? std::to_string(batch) + "*" : std::string();
  text += std::to_string(call.heads()) + "*" + std::to_string(call.query_tokens());
  text += call.query_tokens() == call.key_tokens() ? "^2" : "*" + std::to_string(call.key_tokens());
  return text + "*4";
}

/// Bytes that keys and values grow by when every query head gets its own copy.
std::int64_t expansion_bytes(const AttentionCall& call) {
  const std::int64_t batch = call.query.size(-5) * call.query.size(-4);
  const auto row = call.head_dim() * static_cast<std::int64_t>(size_of(call.key.dtype)) +
                   call.value_dim() * static_cast<std::int64_t>(size_of(call.value.dtype));
  return batch * (call.heads() - call.kv_heads()) * call.key_tokens() * row;
}

class SdpaKernel final : public AttentionKernel {
 public:
  SdpaKernel(SdpaFlags flags, const Target& target)
      : chooser_(flags, target),
        target_(target.label.empty() ? target.name : target.label),
        limit_(target.memory_bytes) {}

  [[nodiscard]] KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override {
    return describe(chooser_.choose(call), selection);
  }

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    const SdpaVariant variant = chooser_.choose(call);
    KernelResult result = describe(variant, selection);
    if (result.failure.empty()) result.failure = refusal(call, selection);
    if (!result.failure.empty()) return result;
    try {
      if (variant == SdpaVariant::math) {
        math_attention(call);
      } else {
        exact_attention(call, nullptr);
      }
    } catch (const std::bad_alloc&) {
      result.failure = kOutOfMemory;
    }
    return result;
  }

  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    const SdpaVariant variant = chooser_.choose(call);
    KernelForecast forecast{describe(variant, selection), 0, chooser_.explain(call), {}};
    if (variant == SdpaVariant::none) {
      forecast.warnings.emplace_back(forecast.would_run.failure);
      return forecast;
    }
    const bool math = variant == SdpaVariant::math;
    forecast.memory_bytes = math ? score_matrix_bytes(call) : log_sum_exp_bytes(call);
    if (math) warn_of_math(call, forecast);
    if (limit_ && forecast.memory_bytes > *limit_) {
      forecast.warnings.push_back(std::string(name_of(variant)) + " path needs " + gibibytes(forecast.memory_bytes) +
                                  " (" + std::to_string(forecast.memory_bytes) + " bytes), more than the " +
                                  gibibytes(*limit_) + " of " + (target_.empty() ? "the target" : target_));
    }
    return forecast;
  }

 private:
  [[nodiscard]] KernelResult describe(SdpaVariant variant, const BlockSelection* selection) const noexcept {
    KernelResult result{"sdpa", name_of(variant), {}};
    if (selection != nullptr) result.failure = kTakesNoSelection;
    if (variant == SdpaVariant::none) result.failure = chooser_.flags().any() ? kNothingFits : kNothingTicked;
    return result;
  }

  /// Masks keep flash away and grouped heads the memory-efficient kernel; expanding the heads gives that one back.
  void warn_of_math(const AttentionCall& call, KernelForecast& forecast) const {
    const bool grouped = call.heads() != call.kv_heads();
    if (!grouped || !call.attn_mask || chooser_.on_cpu(call)) return;
    forecast.warnings.push_back("gqa+mask: math path, score matrix " + gigabytes(forecast.memory_bytes, 1) + " (" +
                                score_matrix_product(call) + " bytes)");
    if (chooser_.flags().memory_efficient) {
      forecast.warnings.push_back("expand k/v: +" + gigabytes(expansion_bytes(call), 2) + " net");
    }
  }

  SdpaChooser chooser_;
  std::string target_;
  std::optional<std::int64_t> limit_;
};

/// "Flash" and the spelling of older files, "Flash attention".
bool ticked(const OptionList& list, const std::string& kernel) {
  for (const std::string& entry : list) {
    if (entry == kernel || entry == kernel + " attention") return true;
  }
  return false;
}

std::string quoted(const OptionList& list) {
  std::string text;
  for (const std::string& entry : list) text += (text.empty() ? "'" : ", '") + entry + "'";
  return "[" + text + "]";
}

OptionSpec kernels_option() {
  OptionSpec option;
  option.key = kFlagsKey;
  option.label = "SDP kernels";
  option.type = OptionType::choices;
  option.choices = {"Flash", "Memory", "Math"};
  option.fallback = option.choices;
  option.section = "SDP Attention";
  option.help =
      "The kernels that the original attention may use. Flash is fastest and takes no mask on a GPU, Memory takes "
      "masks, "
      "Math takes everything but holds the whole score matrix. With none ticked nothing can run.";
  return option;
}

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  const bool stated = context.options.find(kFlagsKey) != nullptr;
  const OptionList list = stated ? context.options.list(kFlagsKey) : std::get<OptionList>(kernels_option().fallback);
  const SdpaFlags flags{ticked(list, "Flash"), ticked(list, "Memory"), ticked(list, "Math")};
  auto host = std::make_shared<SdpaKernel>(flags, context.target);
  // Nobody stands below the original, so what the GPU cannot compute the host does.
  return PreparedBackend{cuda::exact_on_gpu(context.target, std::move(host), cuda::OnFailure::host), std::nullopt,
                         "Torch attention: type=\"sdpa\" kernels=" + quoted(list)};
}

}  // namespace

BackendSpec sdpa_backend() {
  BackendSpec spec;
  spec.name = "sdpa";
  spec.label = "Scaled-Dot-Product";
  spec.constraints.allow_cpu = true;
  spec.options = {kernels_option()};
  spec.help = "The attention of torch itself: serves whatever no other backend takes.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
