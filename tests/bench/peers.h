// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <functional>
#include <string>
#include <vector>

namespace attn::bench {

/// Another implementation of a call on the same tensors: fp32, contiguous, no mask, not causal.
struct Peer {
  std::string name;
  std::function<void()> run;
};

/// The peers that were installed when this was built:
/// - OpenBLAS: the two products of every head as sgemm over 256 query rows at a time, without a softmax. The FLOPs of
///   attention and nothing else; what it writes is no attention.
/// - oneDNN: matmul, softmax, matmul over 128 query rows at a time.
[[nodiscard]] std::vector<Peer> peers_of(const AttentionCall& call, int threads);

/// What the peers are, and which kernels OpenBLAS chose: left to itself on a processor that it does not know, it takes
/// its slowest ones.
[[nodiscard]] std::string describe_peers();

/// Starts this program again with OPENBLAS_CORETYPE set where it is not and the processor has AVX-512: OpenBLAS reads
/// it once, before main. Returns when there is nothing to do.
void choose_blas_kernels(char** argv);

}  // namespace attn::bench
