// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// The Triton flash kernel of the AMD platforms: exact, no masks, head_dim up to 128, 32-bit offsets, causal bottom
/// right.
[[nodiscard]] BackendSpec triton_backend();

}  // namespace attn
