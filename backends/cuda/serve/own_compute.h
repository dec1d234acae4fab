// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/device_compute.h"
#include "backends/cuda/serve/launch_table.h"

#include <functional>
#include <memory>
#include <optional>

namespace attn::cuda {

/// Options of the INT8 kernel for a call; nullopt: its arithmetic is not the kernel's.
using Int8OptionsFor = std::function<std::optional<Int8Options>(const AttentionCall& call)>;

/// This project's INT8 attention. A selection goes along as lists of kept tiles.
[[nodiscard]] std::unique_ptr<DeviceCompute> own_int8_compute(const LaunchTable& launches, Int8OptionsFor options);
/// This project's exact attention.
[[nodiscard]] std::unique_ptr<DeviceCompute> own_exact_compute(const LaunchTable& launches);

}  // namespace attn::cuda
