// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// SageAttention: INT8 query-key products with smoothed keys, values in fp16 or e4m3. Which of its kernels runs follows
/// the target's compute capability.
[[nodiscard]] BackendSpec sage_backend();

}  // namespace attn
