// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/device.h"

#include <charconv>

namespace attn {

std::string to_string(const Device& device) {
  if (device.is_cpu()) return "cpu";
  return device.index < 0 ? "accel" : "accel:" + std::to_string(device.index);
}

std::optional<Device> parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  for (const std::string_view kind : {"accel", "cuda"}) {
    if (!text.starts_with(kind)) continue;
    std::string_view rest = text.substr(kind.size());
    if (rest.empty()) return Device::accel();
    if (rest.front() != ':') return std::nullopt;
    rest.remove_prefix(1);
    std::int16_t index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (error != std::errc{} || end != rest.data() + rest.size() || index < 0) return std::nullopt;
    return Device::accel(index);
  }
  return std::nullopt;
}

}  // namespace attn
