// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

namespace attn {

/// SDNQ attention: quantised products with a type of their own for query-key and for probability-value, smoothed keys,
/// an optional Hadamard rotation, any mask, and block selections combined with masks.
[[nodiscard]] BackendSpec sdnq_backend();

}  // namespace attn
