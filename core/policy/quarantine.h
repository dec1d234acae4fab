// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/target.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A backend that gave wrong numbers on one architecture. An architecture gate says what a kernel was built for, not
/// that it is right there.
struct Quarantined {
  std::string backend;  ///< of a chain or of the dispatcher
  std::string platform;
  std::optional<int> capability;  ///< nullopt: where the capability is unknown
  std::string gfx;                ///< of AMD cards; empty elsewhere
  double cosine = 0.0;            ///< measured against the exact result
  double threshold = 0.0;         ///< that it had to reach

  /// "cosine 0.3 against the exact result on cuda sm_90, below 0.99".
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] bool holds_on(const Target& target) const noexcept;
  friend bool operator==(const Quarantined&, const Quarantined&) = default;
};

/// What was found out about backends, kept with the settings.
using Quarantine = std::vector<Quarantined>;

/// Judges a measurement. True: the backend is quarantined now on that architecture; an older entry for it is replaced.
/// A cosine that is no number counts as 0. At or above the threshold, an older entry is taken away.
bool judge_accuracy(Quarantine& quarantine, std::string_view backend, const Target& target, double cosine,
                    double threshold);

/// The sentences that hold on a target, by backend.
[[nodiscard]] std::map<std::string, std::string, std::less<>> quarantined_on(const Quarantine& quarantine,
                                                                             const Target& target);

}  // namespace attn
