// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/sparse/parallel_for.h"

namespace attn::app {

/// Loops over all of this machine's threads, in about four ranges a thread. What it returns may be called from any
/// thread, also at once; a body that throws ends the program.
[[nodiscard]] ParallelFor on_all_threads();

}  // namespace attn::app
