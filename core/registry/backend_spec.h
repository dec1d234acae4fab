// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/constraints.h"
#include "core/registry/kernel.h"
#include "core/registry/option.h"
#include "core/registry/target.h"
#include "core/tensor/expected.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What a backend takes beyond a plain call.
struct Capabilities {
  bool block_mask = false;    ///< consumes a BlockSelection
  bool masked_block = false;  ///< combines a BlockSelection with an attn_mask

  [[nodiscard]] constexpr Capabilities operator&(Capabilities other) const noexcept {
    return {block_mask && other.block_mask, masked_block && other.masked_block};
  }
  friend constexpr bool operator==(Capabilities, Capabilities) noexcept = default;
};

/// What prepare() may look at. References are valid during the call only.
struct PrepareContext {
  const Target& target;
  const OptionValues& options;
  std::shared_ptr<const AttentionKernel> original;  ///< the sdpa below the chain
  /// The cell of a live option, read on every call; null when nobody keeps one, then the option's value at
  /// preparation holds.
  std::function<std::shared_ptr<const std::atomic<double>>(std::string_view key)> live;
};

/// A backend ready to serve.
struct PreparedBackend {
  std::shared_ptr<const AttentionKernel> kernel;  ///< null: nothing to serve here, skipped without a word
  std::optional<Capabilities> verified;           ///< what this kernel really takes; nullopt: as declared. Never widens
  std::string log_line;                           ///< a debug line that says how it was prepared; may be empty
};

/// One backend, declared once. Chains, forms, rebuild lists and documentation derive from it.
struct BackendSpec {
  std::string name;   ///< used in chains
  std::string label;  ///< the override that enables it
  int priority = 0;   ///< higher is asked first
  Constraints constraints;
  bool terminal = false;                              ///< takes whatever the entries declined
  std::optional<std::vector<std::string>> platforms;  ///< nullopt: every platform
  Capabilities capabilities;
  std::vector<OptionSpec> options;  ///< with Applies::rebuild: captured by prepare()
  std::string help;                 ///< what it is, in a sentence
  /// Returns a kernel, or the sentence that says why it cannot serve.
  std::function<Expected<PreparedBackend>(const PrepareContext&)> prepare;

  [[nodiscard]] bool on_platform(std::string_view platform) const {
    if (!platforms) return true;
    for (const std::string& name_on : *platforms) {
      if (name_on == platform) return true;
    }
    return false;
  }
};

}  // namespace attn
