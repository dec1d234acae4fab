// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/device_kernel.h"
#include "backends/cuda/serve/own_compute.h"
#include "core/registry/target.h"

#include <memory>

namespace attn::cuda {

/// Exact arithmetic on the GPU that `target` is: by cuDNN, by this project's kernel where cuDNN does not take the call,
/// else by `host`. A target that is none of this machine's GPUs, or a GPU that cannot be opened, gives `host` itself.
[[nodiscard]] std::shared_ptr<const attn::AttentionKernel> exact_on_gpu(
    const Target& target, std::shared_ptr<const attn::AttentionKernel> host, OnFailure on_failure = OnFailure::decline);

/// INT8 scores on the GPU that `target` is, as exact_on_gpu().
[[nodiscard]] std::shared_ptr<const attn::AttentionKernel> int8_on_gpu(
    const Target& target, std::shared_ptr<const attn::AttentionKernel> host, Int8OptionsFor options);

}  // namespace attn::cuda
