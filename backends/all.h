// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/registry.h"

namespace attn {

/// Every backend that this build has, with sdpa as the original below the chain.
[[nodiscard]] Registry make_registry();

}  // namespace attn
