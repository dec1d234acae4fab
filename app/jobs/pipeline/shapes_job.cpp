// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/shapes_job.h"

#include "app/jobs/pipeline/picture_schedule.h"
#include "app/jobs/pipeline/prompt.h"
#include "app/jobs/pipeline/routed_calls.h"
#include "app/jobs/pipeline/sampler.h"

#include <array>
#include <chrono>
#include <utility>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kDenoiserSlot = "transformer";

/// The role of a component while it runs: a scope in classic pipelines; in modular ones a hook sets it and nothing
/// sets it back.
class ComponentRole {
 public:
  ComponentRole(GenerationContext& context, StepSource source, Role role) {
    if (source == StepSource::hook) {
      context.set_role(role);
    } else {
      scope_.emplace(context, role);
    }
  }

 private:
  std::optional<RoleScope> scope_;
};

/// Size of a pass in latent cells.
struct Grid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  [[nodiscard]] std::int64_t cells() const noexcept { return height * width; }
};

Grid grid_of(std::int64_t height, std::int64_t width, const ShapesConfig& config) {
  return {height / config.latent_factor, width / config.latent_factor};
}

/// Work of one step and of one way through the autoencoder, in multiply-adds: enough to tell how much is left.
double step_work(const Grid& grid, const GenerationSettings& settings, const ShapesConfig& config) {
  const double prompts = settings.guidance > 1.0 ? 2.0 : 1.0;
  const auto tokens = static_cast<double>(grid.cells() + config.text_length);
  const auto width = static_cast<double>(config.width);
  return prompts * static_cast<double>(config.blocks) * (12.0 * tokens * width * width + 2.0 * tokens * tokens * width);
}

double autoencoder_work(const Grid& grid, const ShapesConfig& config) {
  const auto cells = static_cast<double>(grid.cells());
  const auto width = static_cast<double>(config.vae_widths[2]);
  return cells * (9.0 * 14.0 * width * width) + 2.0 * cells * cells * width;
}

/// One generation on its way from the prompt to the picture.
class Generation {
 public:
  Generation(ShapesModel& model, const GenerationSettings& settings, GenerationObserver* observer, JobScope& job,
             const JobEnvironment& environment, Workers& workers)
      : model_(model),
        config_(model.config()),
        settings_(settings),
        observer_(observer),
        context_(job.context()),
        workers_(workers),
        calls_(job, environment, settings.compiled ? &model.compiled_sites() : nullptr, workers.times(), settings.dtype,
               plan()) {}

  /// False: stopped, or a call failed.
  [[nodiscard]] bool run(GenerationResult& result) {
    if (!encode_text()) return false;
    const Grid first = grid_of(settings_.height, settings_.width, config_);
    const FeatureMap noise = noise_of(settings_.seed, 0, first.height, first.width, config_.latent_channels);
    if (!denoise(noise, 1.0, settings_.steps, 0, result)) return false;
    if (settings_.hires && !second_pass(*settings_.hires, result)) return false;
    FeatureMap decoded;
    if (!decode(decoded)) return false;
    calls_.report(true);
    result.picture = to_picture(decoded);
    result.image_tokens = latent_.cells();
    result.seconds = calls_.elapsed_seconds();
    result.times = workers_.times();
    return true;
  }

  [[nodiscard]] const RoutedCalls& calls() const noexcept { return calls_; }

 private:
  [[nodiscard]] bool guided() const noexcept { return settings_.guidance > 1.0; }
  [[nodiscard]] bool in_two_forwards() const noexcept { return guided() && settings_.text == TextForm::trimmed; }

  [[nodiscard]] WorkPlan plan() const {
    const Grid first = grid_of(settings_.height, settings_.width, config_);
    std::int64_t steps = settings_.steps;
    WorkPlan plan{config_.text_blocks + 1, static_cast<double>(steps) * step_work(first, settings_, config_)};
    Grid last = first;
    if (settings_.hires) {
      last = grid_of(settings_.hires->height, settings_.hires->width, config_);
      steps += settings_.hires->steps;
      plan.work += static_cast<double>(settings_.hires->steps) * step_work(last, settings_, config_);
      if (settings_.hires->upscale == HiresSettings::Upscale::image) {
        plan.calls += 2;
        plan.work += autoencoder_work(first, config_) + autoencoder_work(last, config_);
      }
    }
    plan.calls += steps * config_.blocks * (in_two_forwards() ? 2 : 1);
    plan.work += autoencoder_work(last, config_);
    return plan;
  }

  [[nodiscard]] bool encode_text() {
    const ComponentRole role(context_, settings_.step_source, Role::te);
    std::vector<TokenizedPrompt> prompts{*tokenize(settings_.prompt, config_)};
    if (guided()) prompts.push_back(*tokenize(settings_.negative_prompt, config_));
    return model_.text_encoder().run(prompts, calls_, workers_, text_);
  }

  /// What the forwards of one step are made with.
  [[nodiscard]] std::vector<DenoiserPass> passes(const Grid& grid) {
    std::vector<DenoiserPass> made;
    const std::int64_t forwards = in_two_forwards() ? 2 : 1;
    for (std::int64_t i = 0; i < forwards; ++i) {
      const Conditioning text = settings_.text == TextForm::trimmed ? trimmed(text_, i) : padded(text_);
      made.push_back(model_.denoiser().prepare(text, grid.height, grid.width, calls_, workers_));
    }
    return made;
  }

  /// From `start`, the latent at time `from`, to latent_.
  [[nodiscard]] bool denoise(const FeatureMap& start, double from, std::int64_t steps, std::int64_t pass,
                             GenerationResult& result) {
    const Grid grid{start.height(), start.width()};
    ComponentRole role(context_, settings_.step_source, Role::transformer);
    std::vector<DenoiserPass> forwards = passes(grid);
    const std::vector<float> times = shifted_times(steps, grid.cells(), from, config_);
    latent_ = start.copy();
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto begin = Clock::now();
      const auto at = static_cast<std::size_t>(step);
      std::vector<float> velocity;
      if (!forward(forwards, times[at], pass, velocity)) return false;
      const float* free = guided() ? velocity.data() + latent_.cells() * latent_.channels() : nullptr;
      euler_step(latent_, times[at + 1] - times[at], velocity, free, settings_.guidance);
      // A classic pipeline's callback; in a modular one nobody speaks after a step.
      if (settings_.step_source == StepSource::callback) context_.tick(step + 1);
      calls_.done(step_work(grid, settings_, config_));
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      result.step_seconds.push_back(seconds);
      show({pass, step + 1, steps, seconds, 0.0, {}, {}}, velocity, times[at + 1]);
    }
    return true;
  }

  /// The velocities of both prompts one behind the other, in one forward or in two.
  [[nodiscard]] bool forward(std::vector<DenoiserPass>& forwards, float time, std::int64_t pass,
                             std::vector<float>& velocity) {
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      if (settings_.step_source == StepSource::hook) {
        context_.set_role(Role::transformer);
        context_.tick();
      }
      context_.before_forward(kDenoiserSlot, forwards[i].layout());
      const std::size_t group = static_cast<std::size_t>(pass) * 2 + i;  // each has call sites of its own
      std::vector<float> one;
      if (!model_.denoiser().run(forwards[i], group, latent_, time, calls_, workers_, one)) return false;
      velocity.insert(velocity.end(), one.begin(), one.end());
    }
    return true;
  }

  void show(GenerationStep step, const std::vector<float>& velocity, float time) {
    calls_.report();
    if (observer_ == nullptr) return;
    FeatureMap expected = latent_.copy();
    float* x = expected.row(0);
    for (std::int64_t i = 0; i < expected.cells() * expected.channels(); ++i) {
      x[i] -= time * velocity[static_cast<std::size_t>(i)];
    }
    step.elapsed_seconds = calls_.elapsed_seconds();
    step.seconds_left = calls_.seconds_left();
    step.preview = model_.preview().of(expected);
    observer_->step_done(step);
  }

  [[nodiscard]] bool second_pass(const HiresSettings& hires, GenerationResult& result) {
    const Grid grid = grid_of(hires.height, hires.width, config_);
    FeatureMap clean;
    if (hires.upscale == HiresSettings::Upscale::latent) {
      clean = resized_bilinear(latent_, grid.height, grid.width);
    } else if (!upscale_image(hires, clean)) {
      return false;
    }
    context_.new_pass(hires.steps);
    const FeatureMap noise = noise_of(settings_.seed, 1, grid.height, grid.width, config_.latent_channels);
    const FeatureMap start = mixed(clean, noise, static_cast<float>(hires.strength));
    return denoise(start, hires.strength, hires.steps, 1, result);
  }

  [[nodiscard]] bool upscale_image(const HiresSettings& hires, FeatureMap& clean) {
    FeatureMap decoded;
    if (!decode(decoded)) return false;
    const ComponentRole role(context_, settings_.step_source, Role::vae);
    const FeatureMap larger = resized_bicubic(decoded, hires.height, hires.width);
    if (!model_.autoencoder().encode(larger, calls_, workers_, clean)) return false;
    calls_.done(autoencoder_work({clean.height(), clean.width()}, config_));
    return true;
  }

  [[nodiscard]] bool decode(FeatureMap& decoded) {
    const ComponentRole role(context_, settings_.step_source, Role::vae);
    if (!model_.autoencoder().decode(latent_, calls_, workers_, decoded)) return false;
    calls_.done(autoencoder_work({latent_.height(), latent_.width()}, config_));
    return true;
  }

  ShapesModel& model_;
  const ShapesConfig& config_;
  const GenerationSettings& settings_;
  GenerationObserver* observer_;
  GenerationContext& context_;
  Workers& workers_;
  RoutedCalls calls_;
  TextStates text_;
  FeatureMap latent_;
};

}  // namespace

ShapesJob::ShapesJob(std::shared_ptr<ShapesModel> model, GenerationSettings settings, GenerationObserver* observer,
                     int threads)
    : model_(std::move(model)), settings_(std::move(settings)), observer_(observer), threads_(threads) {}

Expected<std::unique_ptr<ShapesJob>> ShapesJob::make(std::shared_ptr<ShapesModel> model, GenerationSettings settings,
                                                     GenerationObserver* observer, int threads) {
  if (auto good = check_settings(settings, model->config()); !good) return fail(good.error());
  return std::make_unique<ShapesJob>(std::move(model), std::move(settings), observer, threads);
}

std::string ShapesJob::title() const { return title_of(settings_); }

Expected<JobOutcome> ShapesJob::run(const JobEnvironment& environment) {
  result_.reset();
  if (auto good = check_settings(settings_, model_->config()); !good) return fail(good.error());
  Pipe pipe{pipeline_of(model_->config()), {}, {}};
  environment.engine.generate_time_gate(pipe);
  auto scope = environment.engine.begin_job(pipe, settings_.steps, environment.observer, environment.timing);
  if (!scope) return fail(scope.error());
  Workers workers(threads_);
  Generation generation(*model_, settings_, observer_, *scope, environment, workers);
  GenerationResult result;
  bool whole = false;
  workers.enter([&] { whole = generation.run(result); });
  if (!generation.calls().failure().empty()) return fail(generation.calls().failure());
  if (!whole) return JobOutcome::stopped;
  result_ = std::move(result);
  if (observer_ != nullptr) observer_->finished(*result_);
  return JobOutcome::finished;
}

}  // namespace attn::app
