// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/policy/packages.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// What is known about a version of a package. Unknown: nobody could look.
enum class PackageKnown : std::uint8_t { works, fails, not_installed, unknown };
/// As name_of(PackageState), and "unknown".
[[nodiscard]] std::string_view name_of(PackageKnown known) noexcept;

/// One version of a package on a target.
struct PackageLine {
  const PackageVersion* package = nullptr;
  PackageKnown known = PackageKnown::unknown;
  std::string found;     ///< "sageattention 1.0.6"; empty where nothing was found
  std::string step;      ///< what exactly failed, or why nobody could look; empty when it works
  bool enabled = false;  ///< the override that it serves is switched on
};

/// The packages of a target.
struct PackageReport {
  std::string python;  ///< "Python 3.11.2", or why there is none
  std::vector<PackageLine> lines;
  std::vector<PackageRow> rows;  ///< empty where nobody could look
  std::vector<DeadChoice> dead;  ///< overrides that are switched on and that no version serves; they stay on

  /// Other overrides are switched on now.
  void link(const OptionList& overrides);
};

/// Looks for every version in `python` (a program in PATH or a path; empty: python3 where the target is in this
/// machine, and nowhere else). `overrides` are those that are switched on. Blocks while modules are imported.
[[nodiscard]] PackageReport probe_target_packages(const Target& target, const OptionList& overrides,
                                                  const std::string& python, const std::stop_token& stop = {});

/// A package that a log says is not there, and what that does here.
struct LogIncident {
  PackageIncident incident;
  bool enabled = false;  ///< its override is switched on, so it is dead

  /// "install failed, backend absent: flash_attn; Flash attention is switched on and dead".
  [[nodiscard]] std::string sentence() const;
};
[[nodiscard]] std::vector<LogIncident> log_incidents(std::string_view text, const OptionList& overrides);
/// The same for a file. Error: the file.
[[nodiscard]] Expected<std::vector<LogIncident>> log_file_incidents(const std::filesystem::path& path,
                                                                    const OptionList& overrides);

}  // namespace attn::app
