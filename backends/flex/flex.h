// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// Flex attention: exact, any mask, and block selections. Masks broadcast as sdpa broadcasts them, per head ones too.
[[nodiscard]] BackendSpec flex_backend();

}  // namespace attn
