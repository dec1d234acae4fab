// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/triton/triton.h"

#include "backends/simd/exact_kernel.h"

#include <limits>

namespace attn {
namespace {

Expected<PreparedBackend> prepare(const PrepareContext&) {
  return PreparedBackend{std::make_shared<ExactKernel>("triton", "triton", false), std::nullopt,
                         "Torch attention: type=\"Triton Flash attention\""};
}

}  // namespace

BackendSpec triton_backend() {
  BackendSpec spec;
  spec.name = "triton";
  spec.label = "Triton Flash attention";
  spec.priority = 30;
  spec.constraints.allow_mask = false;
  spec.constraints.same_device = true;
  spec.constraints.same_dtype = true;
  spec.constraints.causal_top_left = false;
  spec.constraints.max_head_dim = 128;
  spec.constraints.max_offset_reach = std::numeric_limits<std::int32_t>::max();
  spec.platforms = {"rocm", "zluda"};
  spec.help = "Exact attention written in Triton for AMD cards, for calls without a mask.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
