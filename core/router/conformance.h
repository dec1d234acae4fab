// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/constraints.h"
#include "core/registry/kernel.h"

#include <string>

namespace attn {

/// What tiny calls showed of a kernel, whatever it declares.
struct Conformance {
  Constraints constraints;  ///< as declared, or narrower where the kernel failed
  std::string note;         ///< what was narrowed and why; empty when nothing
  std::string barred;       ///< not empty: nothing about the kernel can be trusted; the sentence says what failed
};

/// Runs `kernel` on a handful of calls of a few tokens whose right answers are known exactly, in what
/// `declared` says it takes: dense, batch elements after the first, strided values, boolean masks per batch,
/// fully masked rows, grouped heads, causal with unequal lengths. A kernel that ignores masks loses masks
/// ("mask ignored: output equals unmasked"), one that aligns causal bottom right loses unequal causal lengths,
/// one whose result depends on the memory layout must get contiguous tensors ("layout-dependent result"), one
/// whose later batch elements are wrong is barred ("batch element 1 wrong"). Microseconds; allocates.
[[nodiscard]] Conformance probe_conformance(const AttentionKernel& kernel, const Constraints& declared);

}  // namespace attn
