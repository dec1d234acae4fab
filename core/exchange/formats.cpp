// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/formats.h"

#include "core/exchange/format_list.h"
#include "core/exchange/json_value.h"

#include <array>

namespace attn {
namespace {

using namespace exchange;

constexpr std::array<ExchangeFormat, 11> kFormats{{
    {"sdnext",
     "the config.json of SD.Next",
     "config.json",
     write_sdnext,
     read_sdnext,
     {.existing = true, .form = true}},
    {"sdnext-options",
     "the body of a POST to SD.Next's /sdapi/v1/options",
     "options.json",
     write_sdnext_request,
     read_sdnext_request,
     {.existing = true, .form = true}},
    {"unsloth",
     "the body of a load request to Unsloth Studio",
     "load.json",
     write_unsloth,
     read_unsloth,
     {.existing = true, .model_path = true}},
    {"diffusers", "a Python snippet for diffusers", "attention.py", write_snippet, read_snippet},
    {"env",
     "an environment file for diffusers",
     "attention.env",
     write_environment,
     read_environment,
     {.existing = true}},
    {"comfyui", "launch flags of ComfyUI", "flags.txt", write_flags, read_flags, {.existing = true}},
    {"comfyui-sparse",
     "the sparse attention node of a ComfyUI workflow",
     "sparse-node.json",
     write_sparse_node,
     read_sparse_node,
     {.steps = true, .spelling = true}},
    {"profile", "a profile of Attnscope itself", "profile.json", write_profile, read_profile, {.target = true}},
    {"svg", "sparse settings of Sparse-VideoGen", "svg.txt", write_svg, read_svg, {.steps = true}},
    {"vsa", "sparse settings of Video Sparse Attention", "vsa.txt", write_vsa, read_vsa},
    {"sglang", "sparse settings of SGLang", "sglang.txt", write_sglang, read_sglang},
}};

const ExchangeFormat& format_named(std::string_view name) {
  for (const ExchangeFormat& format : kFormats) {
    if (format.name == name) return format;
  }
  return kFormats.front();
}

bool has_node(const JsonValue& json) {
  if (json.find("class_type") != nullptr || json.find("nodes") != nullptr) return true;
  for (const auto& [key, value] : json.members()) {
    if (value.find("class_type") != nullptr) return true;
  }
  return false;
}

}  // namespace

std::span<const ExchangeFormat> exchange_formats() noexcept { return kFormats; }

Expected<const ExchangeFormat*> find_exchange_format(std::string_view name) {
  std::string known;
  for (const ExchangeFormat& format : kFormats) {
    if (format.name == name) return &format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return fail("there is no format \"" + std::string(name) + "\"; it is one of " + known);
}

const ExchangeFormat& guess_exchange_format(std::string_view text) {
  const auto holds = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const Expected<JsonValue> json = JsonValue::parse(std::string(text));
  if (json) {
    if (json->find("attnscope") != nullptr) return format_named("profile");
    if (json->find("attention_backend") != nullptr || json->find("model_path") != nullptr) {
      return format_named("unsloth");
    }
    return format_named(has_node(*json) ? "comfyui-sparse" : "sdnext");
  }
  if (holds("set_attention_backend(")) return format_named("diffusers");
  if (holds("DIFFUSERS_ATTN_")) return format_named("env");
  if (holds("--use-") || holds("-xformers")) return format_named("comfyui");
  return format_named("sdnext");
}

}  // namespace attn
