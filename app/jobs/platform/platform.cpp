// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/platform/platform.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/platform/python_modules.h"
#include "core/policy/words.h"

#include <algorithm>

namespace attn::app {
namespace {

bool contains(const OptionList& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

PackageKnown known_of(PackageState state) noexcept {
  switch (state) {
    case PackageState::works:
      return PackageKnown::works;
    case PackageState::fails:
      return PackageKnown::fails;
    case PackageState::not_installed:
      return PackageKnown::not_installed;
  }
  return PackageKnown::unknown;
}

std::string found_of(const PackageRow& row) {
  if (row.module.empty()) return {};
  return row.version.empty() ? row.module : row.module + " " + row.version;
}

PackageReport unknown_report(const OptionList& overrides, const std::string& why) {
  PackageReport report;
  report.python = why;
  for (const PackageVersion& package : package_versions()) {
    report.lines.push_back({&package, PackageKnown::unknown, {}, why, false});
  }
  report.link(overrides);
  return report;
}

}  // namespace

std::string_view name_of(PackageKnown known) noexcept {
  switch (known) {
    case PackageKnown::works:
      return name_of(PackageState::works);
    case PackageKnown::fails:
      return name_of(PackageState::fails);
    case PackageKnown::not_installed:
      return name_of(PackageState::not_installed);
    case PackageKnown::unknown:
      break;
  }
  return "unknown";
}

PackageReport probe_target_packages(const Target& target, const OptionList& overrides, const std::string& python,
                                    const std::stop_token& stop) {
  if (python.empty() && !target.present) {
    return unknown_report(overrides, target.name + " is not in this machine: name a Python to look in");
  }
  PythonModules modules(python.empty() ? "python3" : python, std::chrono::seconds(90), stop);
  const Expected<std::string> version = modules.version();
  if (!version) return unknown_report(overrides, version.error());
  PackageReport report;
  report.python = *version;
  report.rows = probe_packages([&modules](std::string_view module) { return modules.find(module); });
  if (stop.stop_requested()) return unknown_report(overrides, "stopped");
  for (const PackageRow& row : report.rows) {
    report.lines.push_back({row.package, known_of(row.state), found_of(row), row.step, false});
  }
  report.link(overrides);
  return report;
}

void PackageReport::link(const OptionList& overrides) {
  for (PackageLine& line : lines) line.enabled = contains(overrides, line.package->label);
  dead = dead_choices(rows, overrides);
}

std::string LogIncident::sentence() const {
  std::string text = incident.title;
  if (enabled) text += "; " + incident.label + " is switched on and dead";
  return text;
}

std::vector<LogIncident> log_incidents(std::string_view text, const OptionList& overrides) {
  const std::vector<std::string> lines = split_words(text, '\n');
  std::vector<LogIncident> linked;
  for (PackageIncident& incident : package_incidents(lines)) {
    const bool enabled = !incident.label.empty() && contains(overrides, incident.label);
    linked.push_back({std::move(incident), enabled});
  }
  return linked;
}

Expected<std::vector<LogIncident>> log_file_incidents(const std::filesystem::path& path, const OptionList& overrides) {
  const Expected<std::string> text = read_text(path);
  if (!text) return fail(text.error());
  return log_incidents(*text, overrides);
}

}  // namespace attn::app
