// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/picture_job.h"

#include "ui/format/format.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace attn::app {

namespace {

class PictureJob final : public Job {
 public:
  PictureJob(std::shared_ptr<ModelShelf> shelf, PictureSettings settings, std::shared_ptr<PreviewSlot> slot)
      : shelf_(std::move(shelf)), generation_(settings.generation), observer_(std::move(slot), std::move(settings)) {}

  [[nodiscard]] std::string title() const override {
    return ShapesJob(nullptr, generation_, nullptr, 0).title();  // which the model is not asked for
  }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    observer_.begin();
    const auto model = shelf_->take();
    if (!model) return fail(model.error());
    if (environment.stop.stop_requested()) return JobOutcome::stopped;
    const auto job = ShapesJob::make(*model, generation_, &observer_);
    if (!job) return fail(job.error());
    return (*job)->run(environment);
  }

 private:
  std::shared_ptr<ModelShelf> shelf_;
  GenerationSettings generation_;
  SlotObserver observer_;
};

}  // namespace

Expected<std::shared_ptr<ShapesModel>> ModelShelf::take() {
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr) {
    auto read = ShapesModel::load(folder_);
    if (!read) return fail(read.error());
    model_ = *std::move(read);
  }
  return model_;
}

SlotObserver::SlotObserver(std::shared_ptr<PreviewSlot> slot, PictureSettings settings) : slot_(std::move(slot)) {
  frame_.made = made_of({}, settings);
  frame_.steps = frame_.made.request.steps;
}

void SlotObserver::begin() { slot_->put(frame_); }

void SlotObserver::step_done(const GenerationStep& step) {
  ui::PreviewFrame frame = frame_;
  frame.made.image = image_of(step.preview);
  frame.pass = static_cast<int>(step.pass);
  frame.step = static_cast<int>(step.step);
  frame.steps = static_cast<int>(step.steps);
  frame.step_seconds = step.seconds;
  frame.elapsed_seconds = step.elapsed_seconds;
  frame.seconds_left = step.seconds_left;
  slot_->put(std::move(frame));
}

void SlotObserver::finished(const GenerationResult& result) {
  ui::PreviewFrame frame = frame_;
  frame.finished = true;
  frame.made.image = image_of(result.picture);
  frame.made.seconds = result.seconds;
  const auto& steps = result.step_seconds;
  if (!steps.empty()) {
    frame.made.seconds_per_step = std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
  }
  frame.step = frame.steps;
  frame.elapsed_seconds = result.seconds;
  slot_->put(std::move(frame));
}

std::unique_ptr<Job> make_picture_job(std::shared_ptr<ModelShelf> shelf, PictureSettings settings,
                                      std::shared_ptr<PreviewSlot> slot) {
  return std::make_unique<PictureJob>(std::move(shelf), std::move(settings), std::move(slot));
}

GenerationSettings generation_of(const ui::PictureRequest& request) {
  GenerationSettings settings;
  settings.prompt = ui::utf8_of(request.prompt);
  settings.negative_prompt = ui::utf8_of(request.negative_prompt);
  settings.seed = request.seed;
  settings.width = request.width;
  settings.height = request.height;
  settings.steps = request.steps;
  settings.guidance = request.guidance;
  if (request.second) {
    settings.hires =
        HiresSettings{request.second->width, request.second->height, request.second->steps, request.second->strength,
                      request.second->through_image ? HiresSettings::Upscale::image : HiresSettings::Upscale::latent};
  }
  settings.dtype = request.dtype;
  settings.text = request.trimmed_text ? TextForm::trimmed : TextForm::padded;
  settings.step_source = request.step_hook ? StepSource::hook : StepSource::callback;
  settings.compiled = request.compiled;
  return settings;
}

ui::PictureRequest request_of(const GenerationSettings& settings) {
  ui::PictureRequest request;
  request.prompt = ui::text_of(settings.prompt);
  request.negative_prompt = ui::text_of(settings.negative_prompt);
  request.seed = settings.seed;
  request.width = static_cast<int>(settings.width);
  request.height = static_cast<int>(settings.height);
  request.steps = static_cast<int>(settings.steps);
  request.guidance = settings.guidance;
  if (settings.hires) {
    request.second = ui::SecondPass{static_cast<int>(settings.hires->width), static_cast<int>(settings.hires->height),
                                    static_cast<int>(settings.hires->steps), settings.hires->strength,
                                    settings.hires->upscale == HiresSettings::Upscale::image};
  }
  request.dtype = settings.dtype;
  request.trimmed_text = settings.text == TextForm::trimmed;
  request.step_hook = settings.step_source == StepSource::hook;
  request.compiled = settings.compiled;
  return request;
}

QImage image_of(const Picture& picture) {
  QImage image(static_cast<int>(picture.width), static_cast<int>(picture.height), QImage::Format_RGB888);
  const auto row = static_cast<std::size_t>(picture.width) * 3;
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(image.scanLine(y), picture.rgb.data() + static_cast<std::size_t>(y) * row, row);
  }
  return image;
}

Picture picture_of(const QImage& image) {
  const QImage plain = image.convertToFormat(QImage::Format_RGB888);
  Picture picture{plain.width(), plain.height(), {}};
  const auto row = static_cast<std::size_t>(plain.width()) * 3;
  picture.rgb.resize(row * static_cast<std::size_t>(plain.height()));
  for (int y = 0; y < plain.height(); ++y) {
    std::memcpy(picture.rgb.data() + static_cast<std::size_t>(y) * row, plain.constScanLine(y), row);
  }
  return picture;
}

ui::MadePicture made_of(QImage image, const PictureSettings& settings) {
  return {std::move(image), request_of(settings.generation), ui::text_of(settings.target), settings.settings, 0.0, 0.0};
}

PictureSettings settings_of(const ui::MadePicture& made) {
  return {generation_of(made.request), ui::utf8_of(made.target), made.settings};
}

}  // namespace attn::app
