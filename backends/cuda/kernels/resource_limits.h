// SPDX-License-Identifier: GPL-3.0-or-later
// What each kernel may take of a multiprocessor, on every architecture. tests/cuda/resources_test.cpp compares this
// with what the compiler reports.
#pragma once

#include <string_view>

namespace attn::cuda {

struct ResourceLimit {
  std::string_view kernel;  ///< the beginning of its name behind run_kernel<attn::cuda::
  int registers;            ///< of a thread; no kernel may spill
};

/// A multiprocessor has 65,536 registers: for two blocks of 128 threads with 255 each, two of 256 threads with 128,
/// four of 128 threads with 128, four of 256 threads with 64.
inline constexpr ResourceLimit kResourceLimits[] = {
    {"AttentionKernel<128, attn::cuda::Int8Numbers", 255},
    {"AttentionKernel<64, attn::cuda::Int8Numbers", 240},
    {"AttentionKernel<128, attn::cuda::HalfNumbers", 240},
    {"AttentionKernel<64, attn::cuda::HalfNumbers", 250},
    {"AttentionKernel<128, attn::cuda::BfloatNumbers", 240},
    {"AttentionKernel<64, attn::cuda::BfloatNumbers", 250},
    {"QuantiseKernel<", 128},
    {"PartialMeanKernel<", 128},
    {"MeanKernel<", 48},
    {"PackKernel<", 48},
    {"PoolKernel", 128},
    {"SelectKernel", 64},
    {"ListKernel", 64},
};

}  // namespace attn::cuda
