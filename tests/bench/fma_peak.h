// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace attn::bench {

/// Floating-point operations per second of fp32 multiply-adds that never leave the registers, in the widest vectors
/// that this processor has, on `threads` threads at once. The best of a few short runs: a shared machine only takes
/// away.
[[nodiscard]] double fma_peak(int threads);

}  // namespace attn::bench
