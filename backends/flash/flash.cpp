// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/flash/flash.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/simd/exact_kernel.h"

namespace attn {
namespace {

constexpr int kFirstCapability = 80;  // the library has no kernels before Ampere

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  const Target& target = context.target;
  if (target.platform == "cuda" && target.capability && *target.capability < kFirstCapability) {
    return fail("needs compute capability 8.0 or later, the target has " + std::to_string(*target.capability / 10) +
                "." + std::to_string(*target.capability % 10));
  }
  return PreparedBackend{cuda::exact_on_gpu(target, std::make_shared<ExactKernel>("flash", "flash", false)),
                         std::nullopt, "Torch attention: type=\"Flash attention\""};
}

}  // namespace

BackendSpec flash_backend() {
  BackendSpec spec;
  spec.name = "flash";
  spec.label = "Flash attention";
  spec.priority = 40;
  spec.constraints.allow_mask = false;
  spec.constraints.allow_float32 = false;
  spec.constraints.same_device = true;
  spec.constraints.same_dtype = true;
  spec.constraints.causal_top_left = false;
  spec.constraints.max_head_dim = 128;
  spec.help = "Exact attention without a score matrix, for half precision calls without a mask.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
