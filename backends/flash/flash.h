// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// Flash attention: exact, without a score matrix, half precision, no masks, head_dim up to 128. The library aligns
/// causal bottom right, so a causal call with unequal lengths is declined.
[[nodiscard]] BackendSpec flash_backend();

}  // namespace attn
