// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels' launches with every block and thread run on the host: what tests and the self test compare with. Slow.
#pragma once

#include "backends/cuda/grid/host_block.h"
#include "backends/cuda/kernels/kernels.h"

namespace attn::cuda {

/// As launch_int8_attention() and so on, with all memory on the host. They return when all is computed.
LaunchStatus host_int8_attention(const AttentionTask& task, const Int8Options& options, void* workspace,
                                 const HostRun& run = {});
LaunchStatus host_exact_attention(const AttentionTask& task, void* workspace, const HostRun& run = {});
LaunchStatus host_selection(const SelectionTask& task, void* workspace, const HostRun& run = {});

}  // namespace attn::cuda
