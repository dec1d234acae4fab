// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

#include <string_view>
#include <vector>

namespace attn {

/// Every backend that this build has, and the sdpa that stands below every chain. Filled once by the
/// composition root, then read only.
class Registry {
 public:
  /// Adds a backend. A repeated name or label is refused and changes nothing; the error says which.
  [[nodiscard]] Expected<void> add(BackendSpec spec);
  /// Adds a backend that a dispatcher serves by name, beside every chain; its label, priority and terminal flag do not
  /// matter. A repeated name is refused.
  [[nodiscard]] Expected<void> add_direct(BackendSpec spec);
  /// Sets the original: its `constraints` are not asked and `terminal` does not matter.
  void set_original(BackendSpec spec) { original_ = std::move(spec); }

  /// By ascending priority, ties in order of registration: the order in which a plan visits them.
  [[nodiscard]] const std::vector<BackendSpec>& ascending() const noexcept { return backends_; }
  [[nodiscard]] const BackendSpec& original() const noexcept { return original_; }

  [[nodiscard]] const BackendSpec* by_name(std::string_view name) const noexcept;
  /// By the dispatcher's name; null when nothing here serves it.
  [[nodiscard]] const BackendSpec* direct(std::string_view name) const noexcept;
  [[nodiscard]] const BackendSpec* by_label(std::string_view label) const noexcept;
  /// Labels by descending priority: the order in which people read a chain.
  [[nodiscard]] std::vector<std::string> labels() const;

 private:
  std::vector<BackendSpec> backends_;
  std::vector<BackendSpec> direct_;
  BackendSpec original_;
};

}  // namespace attn
