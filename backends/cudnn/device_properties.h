// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/descriptor.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attn::cudnn {

/// What cuDNN wants to know of a GPU to build plans for it. With `local` the library asks that GPU itself; without, the
/// figures stand for a GPU that need not be here.
struct DeviceProperties {
  std::optional<int> local;  ///< index among this machine's GPUs
  std::string name;
  int capability = 90;  ///< times ten
  int multiprocessors = 132;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int shared_memory_optin = 232448;  ///< the most that a block may ask for, bytes
  int threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int driver = 13000;  ///< as cuDriverGetVersion counts

  /// The text that cuDNN reads (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
  [[nodiscard]] std::string json() const;
  [[nodiscard]] Descriptor describe(Maker& maker) const;
};

}  // namespace attn::cudnn
