// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/selection.h"

#include "core/policy/dispatcher_backend.h"
#include "core/policy/words.h"

#include <array>

namespace attn {
namespace {

/// What auto may choose, best first.
constexpr std::array<std::string_view, 1> kAutomatic{"cudnn"};

std::string platform_text(const Target& target) {
  return target.platform.empty() ? std::string("unknown") : target.platform;
}

std::string device_text(DeviceNeed need) {
  return need == DeviceNeed::rocm ? "ROCm" : need == DeviceNeed::nvidia ? "NVIDIA CUDA" : "any device";
}

/// Why the target cannot run it; empty when it can or when nobody knows.
std::string refusal(const std::string& name, DeviceNeed device, const CapabilityGate& gate, const Target& target) {
  if (!is_device(target, device)) {
    return name + " needs " + device_text(device) + ", the target's platform is " + platform_text(target);
  }
  if (gate.check(target.capability) != Support::not_supported) return {};
  return name + " needs " + gate.text() + ", the target has " + capability_text(*target.capability);
}

std::string unknown_text(const std::string& name, const CapabilityGate& gate) {
  return name + " needs " + gate.text() + "; the target's is unknown, which blocks nothing";
}

Selection automatic(const Target& target, bool speed_active) {
  Selection out{std::string(kAutoRequest), std::nullopt, SelectionState::standard, {}};
  if (!speed_active) {
    out.reason = "no speed profile is active, so auto keeps the default attention and the result stays bit-identical";
    return out;
  }
  for (const std::string_view name : kAutomatic) {
    const AttentionAlias& alias = *find_attention_alias(name);
    const std::string why = refusal(std::string(alias.backend), alias.device, alias.gate, target);
    if (!why.empty()) {
      out.reason = "auto keeps the default attention: " + why;
      continue;
    }
    const bool unknown = alias.gate.check(target.capability) == Support::unknown;
    out.backend = std::string(alias.backend);
    out.state = unknown ? SelectionState::unverified : SelectionState::engaged;
    out.reason = unknown ? unknown_text(*out.backend, alias.gate)
                         : *out.backend + " is the best exact backend for the target while a speed profile is active";
    return out;
  }
  return out;
}

}  // namespace

std::string_view name_of(SelectionState state) noexcept {
  switch (state) {
    case SelectionState::engaged:
      return "engaged";
    case SelectionState::standard:
      return "default";
    case SelectionState::rejected:
      return "rejected";
    case SelectionState::unverified:
      return "unverified";
  }
  return "default";
}

Selection select_attention(std::string_view request, const Target& target, bool speed_active) {
  if (request == kAutoRequest) return automatic(target, speed_active);
  Selection out{std::string(request), std::nullopt, SelectionState::standard, {}};
  const AttentionAlias* alias = find_attention_alias(request);
  if (alias == nullptr) {
    out.state = SelectionState::rejected;
    out.reason = std::string(request) + " is no attention_backend";
    return out;
  }
  if (alias->backend.empty()) {
    out.reason = "the default attention was asked for: calls go through the router";
    return out;
  }
  out.reason = refusal(out.requested, alias->device, alias->gate, target);
  if (!out.reason.empty()) {
    out.state = SelectionState::rejected;
    return out;
  }
  out.backend = std::string(alias->backend);
  const bool unknown = alias->gate.check(target.capability) == Support::unknown;
  out.state = unknown ? SelectionState::unverified : SelectionState::engaged;
  out.reason = unknown ? unknown_text(out.requested, alias->gate)
                       : "asked for by name; the target meets what " + *out.backend + " needs";
  return out;
}

Selection select_dispatcher_name(std::string_view name, const Target& target) {
  Selection out{lowered(trimmed(name)), std::nullopt, SelectionState::standard, {}};
  if (out.requested.empty() || out.requested == kNativeBackend) {
    out.reason = "the dispatcher keeps native: calls go through the router";
    return out;
  }
  const DispatcherBackend* backend = find_dispatcher_backend(out.requested);
  if (backend == nullptr) {
    std::string known;
    for (const DispatcherBackend& one : dispatcher_backends()) {
      known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    out.state = SelectionState::rejected;
    out.reason = "the dispatcher has no backend \"" + out.requested + "\"; it has " + known;
    return out;
  }
  const DeviceNeed device = backend->gate.stated() ? DeviceNeed::nvidia : backend->device;
  out.reason = refusal(out.requested, device, backend->gate, target);
  if (out.reason.empty() && backend->accelerator && target.is_cpu()) {
    out.reason = out.requested + " needs an accelerator, the target is the processor";
  }
  if (!out.reason.empty()) {
    out.state = SelectionState::rejected;
    return out;
  }
  out.backend = std::string(backend->name);
  const bool unknown = backend->gate.check(target.capability) == Support::unknown;
  out.state = unknown ? SelectionState::unverified : SelectionState::engaged;
  out.reason = unknown ? unknown_text(out.requested, backend->gate) : "asked for by its dispatcher name";
  return out;
}

}  // namespace attn
