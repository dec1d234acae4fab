// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "core/registry/constraints.h"
#include "core/registry/recorded_step.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Who computed a call. The kernel stamps its own names, so what is reported is what ran.
/// All views point to storage that outlives the process' routes (string literals).
struct KernelResult {
  std::string_view backend;      ///< "sdpa", "sage", ...
  std::string_view variant;      ///< "flash", "memory-efficient", "math", "cuda fp32-accum", "int8", ...
  std::string_view failure;      ///< empty: the output is written. Else why not; the router asks the next entry
  std::string_view fell_back{};  ///< not empty: it was computed another way than it should have been, and why
  std::int64_t device_ns = 0;    ///< of its kernels on a device, without what moved the tensors there; 0: not there
};

/// What serving a call takes, without computing it.
struct KernelForecast {
  KernelResult would_run;
  std::int64_t memory_bytes = 0;      ///< beyond inputs and output, on the target
  std::vector<Verdict> choices;       ///< why this variant: one verdict per alternative it weighed
  std::vector<std::string> warnings;  ///< what a person should know before running
};

/// One prepared attention function. Immutable after preparation; run() may be called from one thread at a time
/// per call object and is re-entrant across objects.
class AttentionKernel {
 public:
  AttentionKernel() = default;
  AttentionKernel(const AttentionKernel&) = delete;
  AttentionKernel& operator=(const AttentionKernel&) = delete;
  virtual ~AttentionKernel() = default;

  /// Computes `call` into call.output. `selection` is null for dense attention.
  [[nodiscard]] virtual KernelResult run(const AttentionCall& call, const BlockSelection* selection) const = 0;
  /// What run() would report, for a call that may have no data. No allocation.
  [[nodiscard]] virtual KernelResult route(const AttentionCall& call,
                                           const BlockSelection* selection) const noexcept = 0;
  /// Asks whoever takes time to answer, a library about its support, so that forecast() knows. For who can wait.
  virtual void ask(const AttentionCall&, const BlockSelection*) const {}
  /// route() with memory, alternatives and warnings. Quick: what nobody has asked is said to be open.
  [[nodiscard]] virtual KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const = 0;
  /// Whether run() takes this selection without its tiles and chooses them itself, by selection.rule: a device does, so
  /// that nothing is read back for it.
  [[nodiscard]] virtual bool chooses_tiles(const AttentionCall&, const BlockSelection&) const { return false; }
  /// The device that records this kernel's calls for a compiled job; null: they are computed one by one.
  [[nodiscard]] virtual const StepRecorder* recorder() const noexcept { return nullptr; }
};

}  // namespace attn
