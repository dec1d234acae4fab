// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/toolkit.h"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace attn::cuda {

std::optional<Toolkit> built_toolkit() {
  Toolkit toolkit{CUDART_VERSION, {ATTN_CUDA_ARCHITECTURES}};
  std::ranges::sort(toolkit.architectures);
  return toolkit;
}

}  // namespace attn::cuda
