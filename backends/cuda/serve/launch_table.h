// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/kernels.h"

namespace attn::cuda {

/// The kernels' launches as they can be had: of the toolkit's build, or of a test that runs them on the host.
struct LaunchTable {
  LaunchStatus (*int8_attention)(const AttentionTask& task, const Int8Options& options, void* workspace, void* stream);
  LaunchStatus (*exact_attention)(const AttentionTask& task, void* workspace, void* stream);
  LaunchStatus (*selection)(const SelectionTask& task, void* workspace, void* stream) = nullptr;
};

/// Null in a build without the CUDA toolkit.
[[nodiscard]] const LaunchTable* built_launches() noexcept;

}  // namespace attn::cuda
