// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/toolkit.h"

namespace attn::cuda {

std::optional<Toolkit> built_toolkit() { return std::nullopt; }

}  // namespace attn::cuda
