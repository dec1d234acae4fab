// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// Dynamic attention: the terminal that cuts a large call into slices and gives each to the original sdpa, so that
/// no slice's score matrix exceeds `dynamic_attention_slice_rate`. Both rates are live: read on every call.
[[nodiscard]] BackendSpec dynamic_backend();

}  // namespace attn
