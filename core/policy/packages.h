// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// One version of a package that serves an override. Versions are entries of their own: that one is missing says
/// nothing about another.
struct PackageVersion {
  std::string_view name;                  ///< "sage 2"
  std::string_view label;                 ///< the override that it serves; empty: only the dispatcher uses it
  int major = 0;                          ///< of the module; 0: any
  std::vector<std::string_view> modules;  ///< names that it has had, the usual one first
};
[[nodiscard]] std::span<const PackageVersion> package_versions();

enum class PackageState : std::uint8_t { works, fails, not_installed };
/// "works", "installed but fails", "not installed".
[[nodiscard]] std::string_view name_of(PackageState state) noexcept;

/// What is known about one version.
struct PackageRow {
  const PackageVersion* package = nullptr;
  PackageState state = PackageState::not_installed;
  std::string module;   ///< under which it was found
  std::string version;  ///< that was found
  std::string step;     ///< what exactly failed; empty when it works
};

/// Looks a module up: its version, nullopt when there is none of that name, or what importing it said.
using ModuleLookup = std::function<Expected<std::optional<std::string>>(std::string_view module)>;

/// One row for every version, each judged by itself.
[[nodiscard]] std::vector<PackageRow> probe_packages(const ModuleLookup& lookup);

/// Overrides that somebody enabled and for which no version works, with why. The choice itself stays.
struct DeadChoice {
  std::string label;
  std::string reason;
};
[[nodiscard]] std::vector<DeadChoice> dead_choices(const std::vector<PackageRow>& rows,
                                                   const std::vector<std::string>& overrides);

/// A package that a log says is not there, with the install that failed before it where there was one.
struct PackageIncident {
  std::string title;  ///< "install failed, backend absent: flash_attn"
  std::string module;
  std::string label;   ///< of the override that is dead because of it; empty: none is
  std::string detail;  ///< the install's own line; empty: none was seen
  int count = 0;       ///< lines that say so
};
/// Reads log lines in their order.
[[nodiscard]] std::vector<PackageIncident> package_incidents(std::span<const std::string> lines);

}  // namespace attn
