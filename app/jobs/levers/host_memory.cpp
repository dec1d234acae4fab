// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace attn::app {
namespace {

/// "VmHWM:  1968 kB" of /proc/self/status, in bytes.
std::optional<std::int64_t> status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    std::int64_t kibibytes = 0;
    if (key == name && status >> kibibytes) return kibibytes * 1024;
    status.clear();
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// Linux: 5 in clear_refs sets the high-water mark to what is resident now.
bool reset_mark() {
  std::ofstream mark("/proc/self/clear_refs");
  mark << "5" << std::flush;
  return static_cast<bool>(mark);
}

}  // namespace

HostPeak::HostPeak() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  if (reset_mark()) held_ = status_bytes("VmRSS:");
}

std::optional<std::int64_t> HostPeak::grown() const {
  const auto peak = held_ ? status_bytes("VmHWM:") : std::nullopt;
  if (!peak) return std::nullopt;
  return std::max<std::int64_t>(*peak - *held_, 0);
}

}  // namespace attn::app
