// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/pipeline/picture_metrics.h"
#include "app/jobs/pipeline/shapes_job.h"
#include "app/jobs/profile/schedule.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// A kind of call of a job and how one variant served it. Errors are against exact attention (the baseline's) on the
/// same query, key, value and mask.
struct LeverRoute {
  std::string call{};  ///< in the written notation, with its role
  Role role = Role::transformer;
  double budget = 1.0;     ///< of the sparse stage; 1: dense
  std::int64_t calls = 0;  ///< in one generation
  std::string backend{};   ///< executed, with "+sparse" where a selection was used
  std::string kernel{};
  double seconds = 0.0;           ///< of one call: the median of the repetitions
  double baseline_seconds = 0.0;  ///< of the baseline's calls of this kind, measured between them
  double relative_l1 = 0.0;       ///< sum |variant - exact| / sum |exact|; the worst call of the kind
  double cosine = 1.0;            ///< the worst call of the kind
  std::int64_t not_finite = 0;    ///< NaN or Inf where the exact result has none

  friend bool operator==(const LeverRoute&, const LeverRoute&) = default;
};

/// What measuring one variant against the baseline gives. `seconds` are of one generation: for calls of a profile the
/// attention alone (the median of each kind of call times its calls), for a picture everything.
struct LeverMeasure {
  std::vector<double> seconds;            ///< one per repetition
  std::vector<double> baseline_seconds;   ///< the baseline's, taken in turns with them
  std::vector<double> attention_seconds;  ///< attention's share of `seconds`
  std::vector<LeverRoute> routes;         ///< in the order in which the job makes them
  /// Most bytes of attention at one time on the target: the tensors of the largest call and what its kernel takes
  /// beyond them, as the kernels forecast it.
  std::int64_t memory_bytes = 0;
  /// Most bytes that this process took for the variant: the tensors of the largest call and how much the process grew
  /// while it was served; of a picture, how much it grew while it was drawn, activations too. By the system's
  /// high-water mark, which is reset before. Memory that worker threads keep from an earlier variant does not show.
  /// nullopt where the system has no such mark.
  std::optional<std::int64_t> host_bytes;
  std::optional<PictureDistance> picture;  ///< from the baseline's
  std::string baseline_hash;               ///< of the baseline's results, equal for equal bits
  std::string hash;                        ///< of the variant's

  friend bool operator==(const LeverMeasure&, const LeverMeasure&);
};

/// An engine in a variant's state.
struct LeverSetup {
  Engine& engine;
  bool compiled = false;
};

/// How to measure.
struct LeverRepeat {
  int repeat = 3;  ///< repetitions after one that warms up; 1 or more
  /// Seconds. Calls that take less are made several times in one repetition: otherwise one switch of threads would be
  /// all of it.
  double shortest = 1e-2;
  std::stop_token stop{};
  /// Called now and then with the share that is done, 0..1; may be empty.
  std::function<void(double)> progress{};
};

/// Said where a measure was not finished because a stop was asked for.
inline constexpr std::string_view kLeverStopped = "stopped";

/// A kind of call that a job makes, without data, placed on the target.
struct LeverCall {
  AttentionCall call;
  Role role = Role::transformer;
  std::int64_t times = 0;  ///< in one generation; 0: not counted
  std::string text{};      ///< as LeverRoute::call has it
};

/// What the levers are tried on. measure() is where the clock is read: a test that has to know the times puts its own
/// job in front of a real one. One thread at a time.
class LeverJob {
 public:
  LeverJob() = default;
  LeverJob(const LeverJob&) = delete;
  LeverJob& operator=(const LeverJob&) = delete;
  virtual ~LeverJob() = default;

  /// "FLUX.1 dev 1024 x 1024, 28 steps".
  [[nodiscard]] virtual std::string title() const = 0;
  /// Equal for jobs that make equal calls with equal values.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Whether results are pictures, which have PSNR and SSIM, and whether the job can be compiled.
  [[nodiscard]] virtual bool draws() const = 0;
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  [[nodiscard]] virtual PipelineInfo pipeline() const = 0;
  [[nodiscard]] virtual std::vector<LeverCall> calls(const Target& target) const = 0;

  /// Runs both warm, then in turns `repeat` times. Error: a call that nobody serves or that does not fit into memory,
  /// or kLeverStopped; nothing is held afterwards.
  [[nodiscard]] virtual Expected<LeverMeasure> measure(const LeverSetup& baseline, const LeverSetup& variant,
                                                       const LeverRepeat& how) const = 0;
};

/// Calls of a profile or a written call on generated tensors: of each kind of call one is computed and counted as often
/// as the schedule makes it; where a sparse schedule has two budgets, one for each. Errors are those of these calls.
[[nodiscard]] std::unique_ptr<LeverJob> make_lever_job(CallSchedule schedule, std::uint64_t seed);

/// The bundled pipeline: whole generations. The error of a call is what the variant made of the values that it met in
/// its own generation, against exact attention on the same values; so a call's error is told apart from what errors
/// before it did to its inputs, which the picture shows. Error: settings that the model does not take.
[[nodiscard]] Expected<std::unique_ptr<LeverJob>> make_lever_job(std::shared_ptr<ShapesModel> model,
                                                                 GenerationSettings settings, int threads = 0);

}  // namespace attn::app
