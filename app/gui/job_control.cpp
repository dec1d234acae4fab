// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/job_control.h"

#include "app/gui/preview_service.h"
#include "app/gui/tensors_job.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/requirement/requirement.h"
#include "trace/collector.h"
#include "ui/format/format.h"

#include <array>

namespace attn::app {

namespace {

struct InputText {
  std::string_view key;
  const char* label;
  const char* unit;
  double minimum;
};

/// Labels of inputs; a profile may bring others, which are shown by their key.
constexpr std::array<InputText, 18> kInputTexts{{
    {"width", "Width", "px", 1},
    {"height", "Height", "px", 1},
    {"frames", "Frames", "", 1},
    {"steps", "Steps", "", 1},
    {"cfg", "Guidance", "", 0},
    {"batch", "Batch", "", 1},
    {"prompt_tokens", "Prompt tokens", "", 0},
    {"negative_tokens", "Negative tokens", "", 0},
    {"min_text", "Least text length", "", 0},
    {"text_limit", "Text limit", "", 0},
    {"template_tokens", "Template tokens", "", 0},
    {"system_tokens", "System tokens", "", 0},
    {"instruction_tokens", "Instruction tokens", "", 0},
    {"fps", "Frames per second", "", 0.001},
    {"boundary", "Boundary", "", 0.001},
    {"shift", "Shift", "", 0.001},
    {"stg", "Spatio-temporal guidance", "", 0},
    {"isolation", "Isolation guidance", "", 0},
}};

Compute compute_of(ui::Work work) {
  switch (work) {
    case ui::Work::planned:
      return Compute::none;
    case ui::Work::representatives:
      return Compute::representatives;
    case ui::Work::all:
    case ui::Work::compiled:
      return Compute::all;
  }
  return Compute::none;
}

ui::RunProgress progress_of(const JobProgress& progress, const QString& noun) {
  return {progress.calls_done, progress.calls_total,     progress.role,         progress.step,
          progress.steps,      progress.elapsed_seconds, progress.seconds_left, noun};
}

ui::RunFacts facts_of(const CallSchedule& schedule) {
  ui::RunFacts facts{schedule.pipeline, schedule.steps, {}};
  for (const CallSchedule::Pattern& pattern : schedule.patterns) {
    if (pattern.layout && facts.layout_of(pattern.layout->length) == nullptr) facts.layouts.push_back(*pattern.layout);
  }
  return facts;
}

ui::RunEnd end_of(const JobEnd& end) {
  ui::RunEnd out;
  switch (end.outcome) {
    case JobOutcome::finished:
      out.outcome = ui::RunEnd::Outcome::finished;
      break;
    case JobOutcome::stopped:
      out.outcome = ui::RunEnd::Outcome::stopped;
      break;
    case JobOutcome::failed:
      out.outcome = ui::RunEnd::Outcome::failed;
      break;
  }
  out.error = ui::text_of(end.error);
  out.seconds = end.seconds;
  return out;
}

}  // namespace

ui::ModelInfo model_info(const Profile& profile, const ProfileLibrary& library) {
  ui::ModelInfo info{ui::text_of(profile.id()), ui::text_of(profile.name()), ui::text_of(profile.medium()), {}};
  for (const auto& [key, value] : profile.defaults()) {
    ui::ModelInput input;
    input.key = ui::text_of(key);
    input.label = input.key;
    for (const InputText& text : kInputTexts) {
      if (text.key != key) continue;
      input.label = ui::JobControl::tr(text.label);
      input.unit = QString::fromLatin1(text.unit);
      input.minimum = text.minimum;
    }
    const auto help = library.input_help().find(key);
    if (help != library.input_help().end()) input.help = ui::text_of(help->second);
    input.value = value;
    input.whole = key != "boundary" && key != "shift" && key != "fps";
    info.inputs.push_back(std::move(input));
  }
  return info;
}

GuiJobControl::GuiJobControl(ProfileLibrary library, Engine& engine, const GuiPreviewService& pictures,
                             RouteObserver& observer, trace::Collector& collector, QObject* parent)
    : ui::JobControl(parent),
      library_(std::move(library)),
      engine_(engine),
      pictures_(pictures),
      observer_(observer),
      collector_(collector),
      postbox_(this) {
  models_.push_back({GuiPreviewService::model_id(), GuiPreviewService::model_name(), "image", {}, true});
  for (const Profile& profile : library_.profiles()) models_.push_back(model_info(profile, library_));
}

GuiJobControl::~GuiJobControl() = default;

Expected<void> GuiJobControl::run(const ui::RunRequest& request) {
  if (!request.tensors.isEmpty()) {
    Expected<void> started = start(make_tensors_job(request.tensors.toStdU16String()));
    if (started) last_run_ = {};
    return started;
  }
  Expected<CallSchedule> schedule = schedule_of(request);
  if (!schedule) return fail(schedule.error());
  if (std::string unmet = first_unmet(*schedule, requirements(), engine_); !unmet.empty()) return fail(unmet);
  ui::RunFacts facts = facts_of(*schedule);
  Expected<std::unique_ptr<Job>> job =
      draws(request)
          ? pictures_.job(picture_of(request))
          : make_schedule_job(std::move(*schedule), compute_of(request.work), 0, request.work == ui::Work::compiled);
  if (!job) return fail(job.error());
  Expected<void> started = start(std::move(*job));
  if (started) last_run_ = std::move(facts);
  return started;
}

Expected<CallSchedule> GuiJobControl::schedule_of(const ui::RunRequest& request) const {
  if (draws(request)) return pictures_.schedule(picture_of(request));
  const Expected<const Profile*> profile = library_.find(ui::utf8_of(request.model));
  if (!profile) return fail(profile.error());
  ProfileInputs inputs;
  for (const auto& [key, value] : request.inputs) inputs[ui::utf8_of(key)] = value;
  return make_schedule(**profile, inputs);
}

bool GuiJobControl::draws(const ui::RunRequest& request) { return request.model == GuiPreviewService::model_id(); }

ui::PictureRequest GuiJobControl::picture_of(const ui::RunRequest& request) const {
  return request.picture.value_or(pictures_.defaults());
}

std::vector<Requirement> GuiJobControl::requirements() const {
  if (required().empty()) return {};
  return {{Role::transformer, required()}};
}

Expected<void> GuiJobControl::start(std::unique_ptr<Job> job, const Showing& showing) {
  if (running_) return fail("a job is running; stop it or wait for its end before starting another");
  const QString title = ui::text_of(job->title());
  if (showing.new_run) {
    emit run_begins();
    collector_.begin_run();
  }
  JobRunner::Callbacks callbacks;
  callbacks.progress = [this, noun = showing.noun, address = postbox_.address()](const JobProgress& progress) {
    address.post([this, now = progress_of(progress, noun)] { emit progressed(now); });
  };
  callbacks.ended = [this, new_run = showing.new_run, address = postbox_.address(),
                     &collector = collector_](const JobEnd& end) {
    if (new_run) collector.end_generation();
    address.post([this, now = end_of(end)] {
      running_ = false;
      emit ended(now);
    });
  };
  running_ = true;
  Expected<void> started = runner_.start(std::move(job), engine_, &observer_, true, std::move(callbacks));
  if (!started) {
    running_ = false;
    return started;
  }
  emit this->started(title);
  return {};
}

}  // namespace attn::app
