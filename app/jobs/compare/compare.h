// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/profile/schedule.h"
#include "app/jobs/tensors/generated.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::app {

/// How far one result is from another; the first is the reference.
struct OutputError {
  double relative_l1 = 0.0;  ///< sum |b - a| / sum |a|; over a zero reference the sum |b|
  double cosine = 1.0;
  double max_abs = 0.0;
  double mean_abs = 0.0;
};

/// How one chain served a call.
struct CompareSide {
  std::string backend;  ///< executed, with "+sparse" where a selection was used
  std::string kernel;
  std::string failure;  ///< nobody served: why
  double seconds = 0.0;
  std::int64_t nan = 0;
  std::int64_t inf = 0;
  double layout_error = 0.0;  ///< max abs difference to the same values in contiguous tensors; 0 when they are
};

/// One distinct call through both chains, with the same tensors.
struct CompareRow {
  std::string call;  ///< in the written notation, with its role
  Role role = Role::transformer;
  std::int64_t times = 0;
  CompareSide a;
  CompareSide b;
  bool computed = false;
  OutputError error;
  std::vector<OutputError> batch;  ///< per batch element
  bool moved = false;              ///< another backend or kernel in b than in a
  std::vector<std::string> notes;  ///< "batch element 1 wrong", "layout-dependent result in b", ...
};

struct CompareResult {
  std::string chain_a;
  std::string chain_b;
  std::vector<CompareRow> rows;
  JobOutcome outcome = JobOutcome::finished;
};

struct CompareOptions {
  bool compute = true;  ///< false: routes only
  std::uint64_t seed = 0;
  /// The tensors of distinct call `index`, whose shapes and devices `call` has; empty: generated ones.
  std::function<CallTensors(const AttentionCall& call, std::uint32_t index)> tensors;
  std::stop_token stop;
  std::function<void(const JobProgress&)> progress;
};

/// Sends every distinct call of a schedule through both engines. Error: an engine is busy, or a call does not fit
/// into memory; nothing is computed then.
[[nodiscard]] Expected<CompareResult> compare_chains(const CallSchedule& schedule, Engine& a, Engine& b,
                                                     const CompareOptions& options);

/// Compares two contiguous outputs of one shape, (batch, heads, tokens, head_dim) or fewer dims. One error for all
/// and one per batch element.
[[nodiscard]] OutputError output_error(const TensorView& a, const TensorView& b, std::vector<OutputError>& batch);

/// "batch element N wrong" for every element that is off while another one is right.
[[nodiscard]] std::vector<std::string> batch_verdicts(const std::vector<OutputError>& batch);

}  // namespace attn::app
