// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/serve/device_compute.h"
#include "backends/cudnn/sdpa_plan.h"

#include <functional>
#include <memory>

namespace attn::cudnn {

/// Exact attention by cuDNN on a GPU of this machine. Plans are kept for the last 64 shapes, refusals too. A missing,
/// old or broken cuDNN is why every call is refused.
[[nodiscard]] std::unique_ptr<cuda::DeviceCompute> cudnn_compute(const cuda::CudaDevice& device);

/// Makes a GPU the calling thread's, as plans load their kernels into it.
using MakeCurrent = std::function<Expected<void>()>;

/// The same with a given library and properties, for a GPU that need not be here: it answers, and computes nothing.
[[nodiscard]] std::unique_ptr<cuda::DeviceCompute> cudnn_compute(Expected<std::shared_ptr<const Library>> library,
                                                                 DeviceProperties device,
                                                                 MakeCurrent make_current = {});

/// A call as cuDNN sees it, with the strides that the upload leaves it. Error: what is not cuDNN's to refuse, as a
/// clause.
[[nodiscard]] Expected<SdpaProblem> problem_of(const AttentionCall& call, const BlockSelection* selection);

/// A selection's tiles as cuDNN reads them: one bit per tile of 128 x 128, the lowest bit first, packed (batch, heads,
/// query tiles, bytes).
[[nodiscard]] std::vector<std::uint8_t> mask_bytes(const BlockSelection& selection, std::int64_t batch,
                                                   std::int64_t heads);

}  // namespace attn::cudnn
