// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/pipeline/generation_settings.h"
#include "app/jobs/pipeline/picture.h"
#include "app/jobs/pipeline/shapes_model.h"
#include "app/jobs/pipeline/workers.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// A step that is done.
struct GenerationStep {
  std::int64_t pass = 0;   ///< 0: the first, 1: the high-resolution one
  std::int64_t step = 0;   ///< of this pass, from 1
  std::int64_t steps = 0;  ///< of this pass
  double seconds = 0.0;    ///< of this step
  double elapsed_seconds = 0.0;
  std::optional<double> seconds_left;
  Picture preview;  ///< the picture as the model expects it now, by LatentPreview: one pixel a latent cell
};

/// A picture that is done.
struct GenerationResult {
  Picture picture;
  std::vector<double> step_seconds;  ///< of all passes
  TimeLedger times;
  double seconds = 0.0;
  std::int64_t image_tokens = 0;  ///< of the last pass
};

/// Watches a generation. Called on the job's thread: what it does there is time that the job waits, so it should copy
/// and return.
class GenerationObserver {
 public:
  GenerationObserver() = default;
  GenerationObserver(const GenerationObserver&) = delete;
  GenerationObserver& operator=(const GenerationObserver&) = delete;
  virtual ~GenerationObserver() = default;
  virtual void step_done(const GenerationStep& step) = 0;
  virtual void finished(const GenerationResult& result) = 0;
};

/// Draws a picture with the bundled model: text encoder (role te), denoiser steps (transformer), perhaps a second pass
/// at a higher resolution, autoencoder (vae), every attention call through the router. Stops before the next call.
class ShapesJob final : public Job {
 public:
  /// Error: the first setting that the model does not take. `threads` 0: all; the picture does not depend on it.
  /// `observer` may be null and must outlive the job.
  [[nodiscard]] static Expected<std::unique_ptr<ShapesJob>> make(std::shared_ptr<ShapesModel> model,
                                                                 GenerationSettings settings,
                                                                 GenerationObserver* observer = nullptr,
                                                                 int threads = 0);
  ShapesJob(std::shared_ptr<ShapesModel> model, GenerationSettings settings, GenerationObserver* observer, int threads);

  [[nodiscard]] std::string title() const override;
  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override;

  /// The last finished run's.
  [[nodiscard]] const std::optional<GenerationResult>& result() const noexcept { return result_; }

 private:
  std::shared_ptr<ShapesModel> model_;
  GenerationSettings settings_;
  GenerationObserver* observer_;
  int threads_;
  std::optional<GenerationResult> result_;
};

}  // namespace attn::app
