// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/quarantine.h"

#include <cmath>
#include <cstdio>

namespace attn {
namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

bool same_place(const Quarantined& one, std::string_view backend, const Target& target) {
  return one.backend == backend && one.holds_on(target);
}

}  // namespace

std::string Quarantined::reason() const {
  std::string place = platform;
  if (capability) place += " sm_" + std::to_string(*capability);
  if (!gfx.empty()) place += " " + gfx;
  return "quarantined: cosine " + short_number(cosine) + " against the exact result on " + place + ", below " +
         short_number(threshold);
}

bool Quarantined::holds_on(const Target& target) const noexcept {
  return platform == target.platform && capability == target.capability && gfx == target.gfx;
}

bool judge_accuracy(Quarantine& quarantine, std::string_view backend, const Target& target, double cosine,
                    double threshold) {
  std::erase_if(quarantine, [&](const Quarantined& one) { return same_place(one, backend, target); });
  if (!std::isfinite(cosine)) cosine = 0.0;
  if (cosine >= threshold) return false;
  quarantine.push_back({std::string(backend), target.platform, target.capability, target.gfx, cosine, threshold});
  return true;
}

std::map<std::string, std::string, std::less<>> quarantined_on(const Quarantine& quarantine, const Target& target) {
  std::map<std::string, std::string, std::less<>> reasons;
  for (const Quarantined& one : quarantine) {
    if (one.holds_on(target)) reasons[one.backend] = one.reason();
  }
  return reasons;
}

}  // namespace attn
