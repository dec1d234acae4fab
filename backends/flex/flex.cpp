// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/flex/flex.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/simd/exact_kernel.h"

namespace attn {
namespace {

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  return PreparedBackend{cuda::exact_on_gpu(context.target, std::make_shared<ExactKernel>("flex", "flex", true)),
                         std::nullopt, "Torch attention: type=\"Flex attention\""};
}

}  // namespace

BackendSpec flex_backend() {
  BackendSpec spec;
  spec.name = "flex";
  spec.label = "Flex attention";
  spec.priority = 20;
  spec.constraints.min_ndim = 4;
  spec.constraints.same_device = true;
  spec.constraints.same_dtype = true;
  spec.capabilities.block_mask = true;
  spec.help = "Exact attention that takes any mask and skips the blocks that the sparse stage drops.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
