// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/option.h"
#include "core/registry/registry.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Keys that code outside the option list has to name. Everything else is found by walking the specs.
namespace keys {
inline constexpr std::string_view overrides = "sdp_overrides";
inline constexpr std::string_view method = "cross_attention_optimization";
inline constexpr std::string_view kernels = "sdp_options";
inline constexpr std::string_view sparse_prefix = "sparse_attention_";
}  // namespace keys

/// The full list of options for a registry on a target: general ones, then every backend's, then the sparse
/// stage's. Defaults follow the platform and ranges the memory, as the mirrored systems' do.
[[nodiscard]] std::vector<OptionSpec> option_specs(const Registry& registry, const Target& target);

/// Keys whose change rebuilds the chain: the overrides, the kernel flags, what the backends captured and the
/// sparse stage's options. Derived from the specs, in their order.
[[nodiscard]] std::vector<std::string> rebuilding_keys(const std::vector<OptionSpec>& specs);

/// Values for a list of options. Not thread safe; the engine guards it.
class Settings {
 public:
  explicit Settings(std::vector<OptionSpec> specs);

  [[nodiscard]] const std::vector<OptionSpec>& specs() const noexcept { return specs_; }
  [[nodiscard]] const OptionSpec* spec(std::string_view key) const noexcept;

  /// Validates, stores and says whether the value changed. An unknown key or a wrong value changes nothing.
  [[nodiscard]] Expected<bool> set(std::string_view key, OptionValue value);
  void reset(std::string_view key);
  /// Takes another target's specs: values at their default move to the new one's, the others stay where the new
  /// specs allow them.
  void adopt(std::vector<OptionSpec> specs);

  /// Takes back the values of `before`, a copy of these settings; the live cells follow.
  void restore(const Settings& before);

  [[nodiscard]] const OptionValues& values() const noexcept { return values_; }
  [[nodiscard]] bool is_default(std::string_view key) const;

  /// The cell of a live option; null for others. It follows set() and may be read from any thread.
  [[nodiscard]] std::shared_ptr<const std::atomic<double>> live(std::string_view key) const;

 private:
  std::vector<OptionSpec> specs_;
  OptionValues values_;
  std::map<std::string, std::shared_ptr<std::atomic<double>>, std::less<>> live_;
};

}  // namespace attn
