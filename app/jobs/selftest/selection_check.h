// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/launch_table.h"
#include "backends/cuda/serve/local_gpu.h"

#include <cstdint>

namespace attn::app {

/// Selects the tiles of a call on the GPU and on the host; returns how many of them differ: right is 0. The GPU's lock
/// is held by the caller. Error: the call that failed.
[[nodiscard]] Expected<std::int64_t> check_selection(cuda::LocalGpu& gpu, const cuda::LaunchTable& launches);

}  // namespace attn::app
