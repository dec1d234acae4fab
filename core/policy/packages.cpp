// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/packages.h"

#include "core/policy/words.h"

#include <algorithm>
#include <charconv>

namespace attn {
namespace {

int major_of(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

PackageRow probe_one(const PackageVersion& package, const ModuleLookup& lookup) {
  PackageRow row{&package, PackageState::not_installed, {}, {}, {}};
  for (const std::string_view module : package.modules) {
    const Expected<std::optional<std::string>> found = lookup(module);
    if (found && !*found) continue;
    if (!found) {
      // Another version under another name may still work.
      if (row.state != PackageState::not_installed) continue;
      row.state = PackageState::fails;
      row.module = module;
      row.step = "import " + std::string(module) + ": " + found.error();
      continue;
    }
    if (package.major != 0 && major_of(**found) != package.major) {
      if (row.step.empty()) row.step = std::string(module) + " is version " + **found;
      continue;
    }
    return {&package, PackageState::works, std::string(module), **found, {}};
  }
  if (row.step.empty()) row.step = "no module named " + std::string(package.modules.front());
  return row;
}

/// The module in "No module named 'flash_attn'"; empty when the line says nothing of the kind.
std::string missing_module(std::string_view line) {
  constexpr std::string_view kSign = "No module named ";
  const std::size_t at = line.find(kSign);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kSign.size());
  if (rest.empty() || (rest.front() != '\'' && rest.front() != '"')) return {};
  const std::size_t end = rest.find(rest.front(), 1);
  const std::string_view whole = rest.substr(1, end == std::string_view::npos ? rest.size() : end - 1);
  return std::string(whole.substr(0, whole.find('.')));
}

bool says_install_failed(std::string_view line) {
  const std::string low = lowered(line);
  const bool install = low.find("install") != std::string::npos || low.find("building wheel") != std::string::npos;
  return install && (low.find("error") != std::string::npos || low.find("fail") != std::string::npos);
}

/// Letters and digits only: "flash-attn" and "flash_attn" are one package.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : lowered(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  return plain;
}

std::string_view label_of_module(std::string_view module) {
  for (const PackageVersion& package : package_versions()) {
    for (const std::string_view known : package.modules) {
      if (known == module) return package.label;
    }
  }
  return {};
}

}  // namespace

std::span<const PackageVersion> package_versions() {
  static const std::vector<PackageVersion> kVersions{
      {"sdnq", "SDNQ attention", 0, {"sdnq"}},
      {"sage 1", "Sage attention", 1, {"sageattention"}},
      {"sage 2", "Sage attention", 2, {"sageattention"}},
      {"sage 3", "", 0, {"sageattn3", "sageattn", "sageattention3"}},
      {"flash 2", "Flash attention", 2, {"flash_attn"}},
      {"flash 3", "", 0, {"flash_attn_interface", "flash_attn_3"}},
      {"xformers", "", 0, {"xformers"}},
      {"kernels", "", 0, {"kernels"}},
      {"aiter", "", 0, {"aiter"}},
  };
  return kVersions;
}

std::string_view name_of(PackageState state) noexcept {
  switch (state) {
    case PackageState::works:
      return "works";
    case PackageState::fails:
      return "installed but fails";
    case PackageState::not_installed:
      return "not installed";
  }
  return "not installed";
}

std::vector<PackageRow> probe_packages(const ModuleLookup& lookup) {
  std::vector<PackageRow> rows;
  for (const PackageVersion& package : package_versions()) rows.push_back(probe_one(package, lookup));
  return rows;
}

std::vector<DeadChoice> dead_choices(const std::vector<PackageRow>& rows, const std::vector<std::string>& overrides) {
  std::vector<DeadChoice> dead;
  for (const std::string& label : overrides) {
    std::string reasons;
    bool works = false;
    for (const PackageRow& row : rows) {
      if (row.package->label != label) continue;
      works = works || row.state == PackageState::works;
      reasons += (reasons.empty() ? "" : "; ") + std::string(row.package->name) + " " +
                 std::string(name_of(row.state)) + " (" + row.step + ")";
    }
    if (!works && !reasons.empty()) dead.push_back({label, reasons});
  }
  return dead;
}

std::vector<PackageIncident> package_incidents(std::span<const std::string> lines) {
  std::vector<PackageIncident> incidents;
  std::vector<std::string> failed_installs;
  for (const std::string& line : lines) {
    const std::string module = missing_module(line);
    if (module.empty()) {
      if (says_install_failed(line)) failed_installs.push_back(line);
      continue;
    }
    const auto same = std::find_if(incidents.begin(), incidents.end(),
                                   [&module](const PackageIncident& one) { return one.module == module; });
    if (same != incidents.end()) {
      ++same->count;
      continue;
    }
    PackageIncident incident{"backend absent: " + module, module, std::string(label_of_module(module)), {}, 1};
    for (const std::string& failed : failed_installs) {
      if (plain_name(failed).find(plain_name(module)) == std::string::npos) continue;
      incident.title = "install failed, " + incident.title;
      incident.detail = failed;
      ++incident.count;
      break;
    }
    incidents.push_back(std::move(incident));
  }
  return incidents;
}

}  // namespace attn
