// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/tasks.h"
#include "core/call/attention_call.h"

#include <optional>

namespace attn::cuda {

/// A view as the kernels take it. Dims of size 1 get stride 0, so that a mask broadcasts. nullopt: the two leading dims
/// of rank 5 do not fold into one batch.
[[nodiscard]] std::optional<DeviceTensor> device_tensor(const TensorView& view) noexcept;

/// A call whose tensors are in device memory, or on the host for kernels that run there. The selection and the
/// log-sum-exp are for the caller to add. nullopt: a view does not fold, or a size does not fit 31 bits.
[[nodiscard]] std::optional<AttentionTask> task_of_call(const AttentionCall& call) noexcept;

}  // namespace attn::cuda
