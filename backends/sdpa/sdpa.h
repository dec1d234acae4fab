// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// torch's scaled_dot_product_attention, the original that stands below every chain. Chooses one of its kernels
/// flash, memory-efficient and math for each call, by the kernel flags (`sdp_options`) and by what the call needs.
[[nodiscard]] BackendSpec sdpa_backend();

}  // namespace attn
