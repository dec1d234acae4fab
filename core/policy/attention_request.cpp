// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/attention_request.h"

#include "core/policy/words.h"

#include <array>

namespace attn {
namespace {

constexpr CapabilityGate kAmpere{80, 0};
constexpr CapabilityGate kHopperOnly{90, 100};
constexpr CapabilityGate kBlackwell{100, 0};

constexpr std::array<AttentionAlias, 10> kAliases{{
    {.alias = "native", .backend = {}, .exact = true},
    {.alias = "sdpa", .backend = {}, .exact = true},
    {.alias = "cudnn", .backend = "_native_cudnn", .device = DeviceNeed::nvidia, .gate = kAmpere, .exact = true},
    {.alias = "flash", .backend = "flash", .device = DeviceNeed::nvidia, .package = "flash-attn", .exact = true},
    {.alias = "flash2", .backend = "flash", .device = DeviceNeed::nvidia, .package = "flash-attn", .exact = true},
    {.alias = "flash3",
     .backend = "_flash_3_hub",
     .device = DeviceNeed::nvidia,
     .gate = kHopperOnly,
     .package = "kernels",
     .exact = true},
    {.alias = "flash4",
     .backend = "flash_4_hub",
     .device = DeviceNeed::nvidia,
     .gate = kBlackwell,
     .package = "kernels",
     .exact = true},
    {.alias = "sage", .backend = "sage", .device = DeviceNeed::nvidia, .package = "sageattention", .exact = false},
    {.alias = "xformers", .backend = "xformers", .device = DeviceNeed::nvidia, .package = "xformers", .exact = true},
    {.alias = "aiter", .backend = "aiter", .device = DeviceNeed::rocm, .package = "aiter", .exact = true},
}};

}  // namespace

std::string_view name_of(Support support) noexcept {
  switch (support) {
    case Support::supported:
      return "supported";
    case Support::not_supported:
      return "not supported";
    case Support::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

Support CapabilityGate::check(std::optional<int> capability) const noexcept {
  if (!stated()) return Support::supported;
  if (!capability) return Support::unknown;
  const bool inside = *capability >= at_least && (below == 0 || *capability < below);
  return inside ? Support::supported : Support::not_supported;
}

std::string CapabilityGate::text() const {
  std::string words = "compute capability";
  if (at_least > 0) words += " " + capability_text(at_least) + " or later";
  if (at_least > 0 && below > 0) words += " and";
  if (below > 0) words += " below " + capability_text(below);
  return words;
}

std::span<const AttentionAlias> attention_aliases() noexcept { return kAliases; }

const AttentionAlias* find_attention_alias(std::string_view alias) noexcept {
  for (const AttentionAlias& one : kAliases) {
    if (one.alias == alias) return &one;
  }
  return nullptr;
}

Expected<std::string> normalise_attention_request(std::optional<std::string_view> request) {
  const std::string word = request ? lowered(trimmed(*request)) : std::string();
  if (word.empty() || word == kAutoRequest) return std::string(kAutoRequest);
  if (find_attention_alias(word) != nullptr) return word;
  std::string known(kAutoRequest);
  for (const AttentionAlias& one : kAliases) known += ", " + std::string(one.alias);
  return fail("attention_backend \"" + std::string(trimmed(*request)) + "\" is not known; it is one of " + known);
}

bool is_device(const Target& target, DeviceNeed need) noexcept {
  switch (need) {
    case DeviceNeed::any:
      return true;
    case DeviceNeed::nvidia:
      return target.platform == "cuda";
    case DeviceNeed::rocm:
      return target.platform == "rocm";
  }
  return false;
}

}  // namespace attn
