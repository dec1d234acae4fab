// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/attention_request.h"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What is known about the packages of the system that will run the model.
struct PackageFacts {
  bool allowed = true;                       ///< the installation gate
  std::vector<std::string> present{};        ///< packages that are there
  std::optional<std::string> hub_version{};  ///< of huggingface_hub; nullopt: unknown, which blocks nothing
  std::optional<std::string> exact_wheel{};  ///< address of a wheel that matches torch and CUDA exactly, for xformers
};

/// One run of an installer.
struct InstallRun {
  std::string requirement;  ///< "sageattention>=2.1.1", or a wheel's address
  bool wheels_only = true;
  bool with_dependencies = false;
  std::chrono::seconds limit{600};
};

/// What would be installed for an alias.
struct InstallPlan {
  std::optional<InstallRun> run;
  bool refused = false;  ///< needed, but not to be had
  std::string reason;    ///< without credentials
};

/// Decides whether the package behind an alias (normalised) is fetched, and how. Runs nothing.
[[nodiscard]] InstallPlan plan_install(std::string_view alias, const PackageFacts& facts);

/// Whether this huggingface_hub can serve `kernels`: 1.10 and later, release candidates of it too. A version that
/// cannot be read passes.
[[nodiscard]] bool hub_serves_kernels(const std::optional<std::string>& version);

/// An address without the user and password that it may carry.
[[nodiscard]] std::string without_credentials(std::string_view text);

/// Remembers what was tried, so that a package is fetched once per process, whatever became of it. A refusal is no
/// attempt. Not thread safe.
class PackageInstaller {
 public:
  using Runner = std::function<bool(const InstallRun&)>;

  explicit PackageInstaller(Runner runner) : runner_(std::move(runner)) {}
  /// True: the package is there now. `reason` gets what to log.
  bool ensure(std::string_view alias, const PackageFacts& facts, std::string* reason = nullptr);

 private:
  Runner runner_;
  std::set<std::string, std::less<>> tried_;
};

}  // namespace attn
