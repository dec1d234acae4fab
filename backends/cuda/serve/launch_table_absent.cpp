// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/launch_table.h"

namespace attn::cuda {

const LaunchTable* built_launches() noexcept { return nullptr; }

}  // namespace attn::cuda
