// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/registry/registry.h"

#include <algorithm>

namespace attn {

Expected<void> Registry::add(BackendSpec spec) {
  if (by_name(spec.name) != nullptr) return fail("attention backend registered twice: name=" + spec.name);
  if (by_label(spec.label) != nullptr) {
    return fail("attention backend label registered twice: label=\"" + spec.label + "\"");
  }
  const auto after = std::upper_bound(backends_.begin(), backends_.end(), spec.priority,
                                      [](int priority, const BackendSpec& other) { return priority < other.priority; });
  backends_.insert(after, std::move(spec));
  return {};
}

Expected<void> Registry::add_direct(BackendSpec spec) {
  if (direct(spec.name) != nullptr) return fail("attention backend registered twice: name=" + spec.name);
  direct_.push_back(std::move(spec));
  return {};
}

const BackendSpec* Registry::direct(std::string_view name) const noexcept {
  const auto at = std::find_if(direct_.begin(), direct_.end(), [name](const auto& spec) { return spec.name == name; });
  return at == direct_.end() ? nullptr : &*at;
}

const BackendSpec* Registry::by_name(std::string_view name) const noexcept {
  const auto at =
      std::find_if(backends_.begin(), backends_.end(), [name](const auto& spec) { return spec.name == name; });
  return at == backends_.end() ? nullptr : &*at;
}

const BackendSpec* Registry::by_label(std::string_view label) const noexcept {
  const auto at =
      std::find_if(backends_.begin(), backends_.end(), [label](const auto& spec) { return spec.label == label; });
  return at == backends_.end() ? nullptr : &*at;
}

std::vector<std::string> Registry::labels() const {
  std::vector<std::string> labels;
  for (auto spec = backends_.rbegin(); spec != backends_.rend(); ++spec) labels.push_back(spec->label);
  return labels;
}

}  // namespace attn
