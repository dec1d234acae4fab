// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <memory>
#include <span>

namespace attn {

class AttentionKernel;

/// One call of a denoiser step that is to be recorded.
struct StepCall {
  const AttentionKernel* kernel = nullptr;
  const AttentionCall* call = nullptr;
  const BlockSelection* selection = nullptr;  ///< null: dense
};

/// The calls of one denoiser step on a device, recorded once and computed again for every step as one piece of work.
class RecordedStep {
 public:
  RecordedStep() = default;
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
  virtual ~RecordedStep() = default;

  /// Computes all calls as of `step`, which the device reads from its step cell, and waits for their outputs.
  /// `milliseconds` gets the time of each on the device and has one element a call. Error: what failed; the outputs
  /// are not to be used then.
  [[nodiscard]] virtual Expected<void> run(std::int32_t step, std::span<double> milliseconds) = 0;
};

/// A device that can record. Kernels that answer with the same one can be recorded together.
class StepRecorder {
 public:
  StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;
  virtual ~StepRecorder() = default;

  /// Brings the inputs to the device, where they stay, and records what computes the outputs. `budgets` has the sparse
  /// stage's budget of every step; a selection that is chosen on the device reads its own from there. Equal calls share
  /// their memory. Error: a call that is not computed on the device, or what failed; nothing is held then.
  [[nodiscard]] virtual Expected<std::unique_ptr<RecordedStep>> record(std::span<const StepCall> calls,
                                                                       std::span<const float> budgets) const = 0;
};

}  // namespace attn
