// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

#include <vector>

namespace attn {

/// The backends that a dispatcher serves directly, beside every chain: one for each name of diffusers' dispatcher
/// whose arithmetic there is a kernel for. Each checks of a call what the dispatcher checks.
[[nodiscard]] std::vector<BackendSpec> direct_backends();

}  // namespace attn
