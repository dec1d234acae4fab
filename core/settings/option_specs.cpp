// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/settings/settings.h"

#include <algorithm>
#include <charconv>

namespace attn {
namespace {

constexpr std::string_view kSdp = "SDP Attention";
constexpr std::string_view kSparse = "Sparse Attention";

/// The architecture number of an AMD card as hexadecimal reads it: gfx1100 -> 0x1100; 0 when there is none.
int gfx_version(std::string_view gfx) {
  if (!gfx.starts_with("gfx")) return 0;
  gfx.remove_prefix(3);
  int version = 0;
  std::from_chars(gfx.data(), gfx.data() + gfx.size(), version, 16);
  return version;
}

/// Platforms where the mirrored systems slice attention unless told otherwise.
bool slices_by_default(const Target& target) {
  if (target.platform == "rocm") return gfx_version(target.gfx) != 0 && gfx_version(target.gfx) < 0x1100;
  return target.platform == "zluda" || target.platform == "mps" || target.platform == "cpu";
}

std::vector<OptionSpec> general_specs(const Registry& registry, const Target& target) {
  OptionSpec method{.key = std::string(keys::method),
                    .label = "Attention method",
                    .type = OptionType::choice,
                    .fallback = std::string("Scaled-Dot-Product"),
                    .choices = {"Scaled-Dot-Product", "Default"},
                    .help =
                        "What the pipeline's own attention processors use. Scaled-Dot-Product lets the overrides "
                        "route; Default leaves the pipeline as it was loaded.",
                    .section = std::string(kSdp),
                    .applies = Applies::gate};
  OptionSpec overrides{.key = std::string(keys::overrides),
                       .label = "SDP overrides",
                       .type = OptionType::choices,
                       .fallback = OptionList{},
                       .help =
                           "Backends that may serve a call before plain sdpa does. The one with the highest "
                           "priority whose checks accept the call takes it.",
                       .section = std::string(kSdp)};
  for (const std::string& label : registry.labels()) overrides.choices.push_back(label);
  if (slices_by_default(target) && registry.by_label("Dynamic attention") != nullptr) {
    overrides.fallback = OptionList{"Dynamic attention"};
  }
  OptionSpec slicing{.key = "attention_slicing",
                     .label = "Attention slicing",
                     .type = OptionType::choice,
                     .fallback = std::string("Default"),
                     .choices = {"Default", "Enabled", "Disabled"},
                     .help = "Splits attention over heads inside the pipeline to save memory, at a cost in time.",
                     .section = "Attention Slicing",
                     .applies = Applies::gate};
  OptionSpec dispatcher{.key = "hf_attention",
                        .label = "Attention dispatcher kernel",
                        .type = OptionType::text,
                        .fallback = std::string(),
                        .help =
                            "A diffusers attention backend by name, such as _native_cudnn. Empty leaves the "
                            "choice to the router; everything but native bypasses it.",
                        .section = "Attention Dispatcher",
                        .applies = Applies::model_load};
  return {std::move(method), std::move(overrides), std::move(slicing), std::move(dispatcher)};
}

OptionSpec sparse(std::string_view name, std::string_view label, OptionType type, OptionValue fallback,
                  std::string_view help) {
  return {.key = std::string(keys::sparse_prefix) + std::string(name),
          .label = std::string(label),
          .type = type,
          .fallback = std::move(fallback),
          .help = std::string(help),
          .section = std::string(kSparse)};
}

OptionSpec ranged(OptionSpec spec, double minimum, double maximum, double step, std::string_view unit) {
  spec.minimum = minimum;
  spec.maximum = maximum;
  spec.step = step;
  spec.unit = unit;
  return spec;
}

std::vector<OptionSpec> sparse_specs() {
  using T = OptionType;
  using Int = std::int64_t;
  return {
      sparse("enabled", "Sparse Attention", T::boolean, false,
             "Long self-attention calls of the denoiser compute only the tiles that matter most. Needs a backend "
             "that takes a block mask: SDNQ or Flex."),
      ranged(sparse("budget", "Sparse Attention KV budget", T::integer, Int{30},
                    "Share of the key tiles that each query tile keeps. Less is faster and further from the dense "
                    "picture; 100 turns the stage off."),
             5, 100, 5, "%"),
      ranged(sparse("min_tokens", "Sparse Attention minimum sequence", T::integer, Int{8192},
                    "Shorter sequences stay dense. 0 means every sequence."),
             0, 32768, 1024, "tokens"),
      ranged(sparse("schedule_steps", "Sparse Attention dense steps", T::integer, Int{0},
                    "This many first and last steps get the bonus below: they decide composition and detail."),
             0, 10, 1, "steps"),
      ranged(sparse("schedule_bump", "Sparse Attention dense step bonus", T::integer, Int{30},
                    "Percent points added to the budget in the dense steps."),
             0, 70, 5, "%"),
      sparse("head_shared", "Sparse Attention share selection across heads", T::boolean, false,
             "One selection for all heads: cheaper to choose, less exact."),
      sparse("exclude", "Sparse Attention excluded models", T::text, std::string("CosmosTransformer3DModel"),
             "Models that stay dense, separated by commas: an architecture, a pipeline class or a denoiser class, "
             "in any case."),
  };
}

/// What a platform changes about a default, beyond the overrides.
void adapt(OptionSpec& spec, const Target& target) {
  if (spec.key == keys::kernels && target.platform == "zluda") spec.fallback = OptionList{"Math"};
  if (spec.maximum_per_memory <= 0.0 || !target.memory_bytes) return;
  const double gib = static_cast<double>(*target.memory_bytes) / (1024.0 * 1024.0 * 1024.0);
  spec.maximum = spec.maximum_per_memory * std::max(gib, 4.0);
}

}  // namespace

std::vector<OptionSpec> option_specs(const Registry& registry, const Target& target) {
  std::vector<OptionSpec> specs = general_specs(registry, target);
  const auto append = [&specs](const std::vector<OptionSpec>& more) {
    specs.insert(specs.end(), more.begin(), more.end());
  };
  append(registry.original().options);
  for (auto backend = registry.ascending().rbegin(); backend != registry.ascending().rend(); ++backend) {
    append(backend->options);
  }
  append(sparse_specs());
  for (OptionSpec& spec : specs) adapt(spec, target);
  return specs;
}

std::vector<std::string> rebuilding_keys(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> keys;
  for (const OptionSpec& spec : specs) {
    if (spec.applies == Applies::rebuild) keys.push_back(spec.key);
  }
  return keys;
}

}  // namespace attn
