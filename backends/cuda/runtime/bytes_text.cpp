// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/device_api.h"

namespace attn::cuda {

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  if (bytes < kMiB) return std::to_string(bytes) + " bytes";
  if (bytes < kGiB) return std::to_string((bytes + kMiB - 1) / kMiB) + " MiB";
  const std::int64_t tenths = (bytes * 10 + kGiB - 1) / kGiB;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " GiB";
}

}  // namespace attn::cuda
