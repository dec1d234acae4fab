// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/install.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <utility>

namespace attn {
namespace {

struct Requirement {
  std::string_view package;
  std::string_view requirement;
};

constexpr std::array<Requirement, 5> kRequirements{{
    {"flash-attn", "flash-attn>=2.6.3"},
    {"kernels", "kernels>=0.12.3"},
    {"sageattention", "sageattention>=2.1.1"},
    {"xformers", {}},  // only as a wheel that matches
    {"aiter", {}},     // comes with the ROCm images
}};

constexpr int kHubMajor = 1;
constexpr int kHubMinor = 10;

std::string_view requirement_of(std::string_view package) {
  for (const Requirement& one : kRequirements) {
    if (one.package == package) return one.requirement;
  }
  return {};
}

}  // namespace

bool hub_serves_kernels(const std::optional<std::string>& version) {
  if (!version) return true;
  int major = 0;
  int minor = 0;
  const char* end = version->data() + version->size();
  const auto [after_major, major_error] = std::from_chars(version->data(), end, major);
  if (major_error != std::errc{} || after_major == end || *after_major != '.') return true;
  const auto [after_minor, minor_error] = std::from_chars(after_major + 1, end, minor);
  if (minor_error != std::errc{}) return true;
  return std::pair(major, minor) >= std::pair(kHubMajor, kHubMinor);
}

std::string without_credentials(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) break;
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'?#", begin), text.size());
    const std::size_t at = text.substr(begin, end - begin).rfind('@');
    out += text.substr(0, begin);
    if (at != std::string_view::npos) out += "***@";
    const std::size_t host = at == std::string_view::npos ? begin : begin + at + 1;
    out += text.substr(host, end - host);
    text.remove_prefix(end);
  }
  return out + std::string(text);
}

InstallPlan plan_install(std::string_view alias, const PackageFacts& facts) {
  InstallPlan plan;
  const AttentionAlias* known = find_attention_alias(alias);
  if (known == nullptr || known->package.empty()) {
    plan.reason = std::string(alias) + " is part of torch";
    return plan;
  }
  const std::string package(known->package);
  if (std::find(facts.present.begin(), facts.present.end(), package) != facts.present.end()) {
    plan.reason = package + " is there";
    return plan;
  }
  if (!facts.allowed) {
    plan.refused = true;
    plan.reason = package + " is missing and installing is switched off";
    return plan;
  }
  if (package == "kernels" && !hub_serves_kernels(facts.hub_version)) {
    plan.refused = true;
    plan.reason = "kernels needs huggingface_hub 1.10 or later, there is " + *facts.hub_version;
    return plan;
  }
  std::string requirement(requirement_of(package));
  if (package == "xformers" && facts.exact_wheel) requirement = *facts.exact_wheel;
  if (requirement.empty()) {
    plan.refused = true;
    plan.reason = package == "xformers"
                      ? "xformers is fetched only as a wheel that matches torch and CUDA; none is known"
                      : package + " is not fetched: it comes with the system";
    return plan;
  }
  plan.run = InstallRun{requirement};
  plan.reason = "fetching " + without_credentials(requirement);
  return plan;
}

bool PackageInstaller::ensure(std::string_view alias, const PackageFacts& facts, std::string* reason) {
  const InstallPlan plan = plan_install(alias, facts);
  const auto say = [reason](std::string text) {
    if (reason != nullptr) *reason = std::move(text);
  };
  say(plan.reason);
  if (!plan.run) return !plan.refused;
  const std::string package(find_attention_alias(alias)->package);
  if (!tried_.insert(package).second) {
    say(package + " was tried once already in this process");
    return false;
  }
  try {
    return runner_(*plan.run);
  } catch (const std::exception& thrown) {
    say(package + " could not be fetched: " + without_credentials(thrown.what()));
  }
  return false;
}

}  // namespace attn
