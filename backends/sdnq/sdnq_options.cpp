// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/sdnq/sdnq_options.h"

#include <optional>

namespace attn {
namespace {

const OptionList& matmul_types() {
  static const OptionList types{"disabled", "enabled", "int8", "uint8", "float8_e4m3fn", "float16"};
  return types;
}

/// `automatic` is what "auto" means: int8 for query-key, none for probability-value.
std::optional<NumberFormat> parse_format(const std::string& type, NumberFormat automatic) {
  if (type == "disabled") return NumberFormat::none;
  if (type == "auto") return automatic;
  if (type == "enabled" || type == "int8" || type == "uint8") return NumberFormat::int8;
  if (type == "float8_e4m3fn") return NumberFormat::e4m3;
  if (type == "float16") return NumberFormat::fp16;
  return std::nullopt;
}

Expected<NumberFormat> format_of(std::string_view key, const std::string& type, NumberFormat automatic) {
  if (const auto format = parse_format(type, automatic)) return *format;
  std::string choices;
  for (const std::string& choice : matmul_types()) choices += (choices.empty() ? "" : ", ") + choice;
  return fail(std::string(key) + " \"" + type + "\" is no matmul type; right are " + choices);
}

OptionSpec option(std::string key, std::string label, OptionType type, OptionValue fallback, std::string help) {
  OptionSpec spec;
  spec.key = "sdnq_attention_" + std::move(key);
  spec.label = "SDNQ Attention " + std::move(label);
  spec.type = type;
  spec.fallback = std::move(fallback);
  spec.section = "SDNQ Attention";
  spec.help = std::move(help);
  if (type == OptionType::choice) spec.choices = matmul_types();
  return spec;
}

}  // namespace

std::vector<OptionSpec> sdnq_option_specs() {
  const SdnqOptions defaults;
  std::vector<OptionSpec> specs{
      option("matmul_type", "MatMul type", OptionType::choice, defaults.matmul_type,
             "Number format of the query-key product. enabled means int8; disabled computes it as it is."),
      option(
          "pv_matmul_type", "PV MatMul type", OptionType::choice, defaults.pv_matmul_type,
          "Number format of the probability-value product. Faster when quantised, and the larger part of the error."),
      option("smooth_k", "use Smooth K", OptionType::boolean, defaults.smooth_k,
             "Takes the mean over tokens off the keys before they are quantised. Costs next to nothing and removes "
             "most of "
             "the error of models with strong key channels."),
      option("use_hadamard", "use Hadamard", OptionType::boolean, defaults.use_hadamard,
             "Rotates query and key channels so that outliers spread over a group before they are quantised."),
      option("hadamard_group_size", "Hadamard Group Size", OptionType::integer, defaults.hadamard_group_size,
             "Channels that are rotated together. Only powers of two have an effect, and no more than head_dim."),
      option(
          "quantize_fp32", "Quantize FP32", OptionType::boolean, defaults.quantize_fp32,
          "Converts to fp32 before the mean and the scales are taken, instead of computing them in the input's dtype."),
      option(
          "use_fp16_accum", "use FP16 Accumulation", OptionType::boolean, defaults.use_fp16_accum,
          "Sums products in fp16 where a format allows it: faster on consumer cards, less exact. No effect on int8 and "
          "float8."),
  };
  OptionSpec& group = specs[4];
  group.minimum = 4;
  group.maximum = 1024;
  group.unit = "channels";
  return specs;
}

Expected<SdnqOptions> read_sdnq_options(const OptionValues& values) {
  const SdnqOptions defaults;
  SdnqOptions options;
  options.matmul_type = values.text("sdnq_attention_matmul_type", defaults.matmul_type);
  options.pv_matmul_type = values.text("sdnq_attention_pv_matmul_type", defaults.pv_matmul_type);
  options.smooth_k = values.boolean("sdnq_attention_smooth_k", defaults.smooth_k);
  options.use_hadamard = values.boolean("sdnq_attention_use_hadamard", defaults.use_hadamard);
  options.hadamard_group_size = values.integer("sdnq_attention_hadamard_group_size", defaults.hadamard_group_size);
  options.quantize_fp32 = values.boolean("sdnq_attention_quantize_fp32", defaults.quantize_fp32);
  options.use_fp16_accum = values.boolean("sdnq_attention_use_fp16_accum", defaults.use_fp16_accum);
  const auto qk = format_of("sdnq_attention_matmul_type", options.matmul_type, NumberFormat::int8);
  if (!qk) return fail(qk.error());
  const auto pv = format_of("sdnq_attention_pv_matmul_type", options.pv_matmul_type, NumberFormat::none);
  if (!pv) return fail(pv.error());
  options.qk = *qk;
  options.pv = *pv;
  return options;
}

}  // namespace attn
