// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/preview_service.h"

#include "app/gui/picture_job.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/pipeline/picture_metrics.h"
#include "app/jobs/pipeline/picture_schedule.h"
#include "app/jobs/pipeline/png_file.h"
#include "app/jobs/pipeline/prompt.h"
#include "ui/format/format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace attn::app {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path path_of(const QString& path) { return {path.toStdU16String()}; }

QString value_of(const Json& value) {
  if (value.is_string()) return ui::text_of(value.get<std::string>());
  if (value.is_null()) return ui::PreviewService::tr("off");
  return ui::text_of(value.dump());
}

void add_change(QStringList& changes, const QString& what, const QString& before, const QString& after) {
  const auto said = [](const QString& value) { return value.isEmpty() ? ui::PreviewService::tr("none") : value; };
  if (before != after) changes << QStringLiteral("%1: %2 → %3").arg(what, said(before), said(after));
}

/// One line for each member that differs; members of an object one by one.
void add_changes(QStringList& changes, const QString& prefix, const Json& before, const Json& after) {
  for (const auto& [key, value] : after.items()) {
    const Json old = before.contains(key) ? before[key] : Json();
    const QString name = prefix + ui::text_of(key).replace('_', ' ');
    if (value.is_object() && old.is_object()) {
      add_changes(changes, name + ' ', old, value);
    } else if (value.is_object() != old.is_object()) {
      const auto size = [](const Json& pass) {
        if (!pass.is_object()) return ui::PreviewService::tr("off");
        return QStringLiteral("%1 × %2").arg(pass["width"].get<int>()).arg(pass["height"].get<int>());
      };
      add_change(changes, name, size(old), size(value));
    } else {
      add_change(changes, name, value_of(old), value_of(value));
    }
  }
}

QStringList changes_between(const PictureSettings& before, const PictureSettings& after) {
  QStringList changes;
  add_changes(changes, {}, to_json(before.generation), to_json(after.generation));
  add_change(changes, ui::PreviewService::tr("target"), ui::text_of(before.target), ui::text_of(after.target));
  for (const auto& [key, value] : after.settings) {
    const auto old = std::find_if(before.settings.begin(), before.settings.end(),
                                  [&key = key](const auto& setting) { return setting.first == key; });
    if (old == before.settings.end()) continue;
    add_change(changes, ui::text_of(key), ui::text_of(value_text(old->second)), ui::text_of(value_text(value)));
  }
  return changes;
}

ui::PictureComparison comparison_of(const ui::MadePicture& baseline, const ui::MadePicture& picture) {
  ui::PictureComparison out;
  out.changes = changes_between(settings_of(baseline), settings_of(picture));
  const Picture a = picture_of(baseline.image);
  const Picture b = picture_of(picture.image);
  const auto distance = distance_of(a, b);
  if (!distance) {
    out.problem = ui::text_of(distance.error());
    return out;
  }
  out.psnr = distance->psnr;
  out.ssim = distance->ssim;
  out.largest = distance->largest;
  // Small differences are to be seen too.
  while (out.gain < 64 && distance->largest > 0 && distance->largest * out.gain * 2 <= 255) out.gain *= 2;
  out.difference = image_of(difference_of(a, b, out.gain));
  return out;
}

ui::OpenedPicture opened_from(const QString& path) {
  ui::OpenedPicture out{path, {}, {}};
  const auto settings = read_picture_settings(path_of(path));
  if (!settings) {
    out.error = ui::text_of(settings.error());
    return out;
  }
  const auto bytes = read_text(path_of(path));
  const auto picture = bytes ? read_png(*bytes) : fail(bytes.error());
  if (!picture) {
    out.error = ui::text_of(picture.error());
    return out;
  }
  out.made = made_of(image_of(*picture), *settings);
  return out;
}

}  // namespace

GuiPreviewService::GuiPreviewService(Engine& engine, const fs::path& folder, QObject* parent)
    : ui::PreviewService(parent),
      engine_(engine),
      shelf_(std::make_shared<ModelShelf>(folder)),
      postbox_(this),
      slot_(std::make_shared<PreviewSlot>(postbox_.address(), [this] { emit frame_changed(); })) {
  const fs::path file = folder / "config.json";
  const fs::path weights = folder / "shapes.safetensors";
  const auto text = read_text(file, std::size_t{1} << 20);
  auto config = text ? ShapesConfig::parse(*text, file.string()) : fail(text.error());
  std::error_code ignored;
  if (!config) {
    missing_ = tr("The bundled model cannot draw: %1.").arg(ui::text_of(config.error()));
  } else if (!fs::exists(weights, ignored)) {
    missing_ = tr("The bundled model cannot draw: its weights are missing, there is no %1.")
                   .arg(ui::text_of(weights.string()));
  } else {
    config_ = *std::move(config);
    for (const std::string& word : prompt_words(config_)) words_ << ui::text_of(word);
    words_.sort();
  }
}

GuiPreviewService::~GuiPreviewService() = default;

QString GuiPreviewService::prompt_problem(const QString& prompt) const {
  if (!missing_.isEmpty()) return {};
  const auto tokens = tokenize(ui::utf8_of(prompt), config_);
  if (tokens) return {};
  QString sentence = ui::text_of(tokens.error());
  sentence[0] = sentence[0].toUpper();
  return sentence + '.';
}

ui::PictureRequest GuiPreviewService::defaults() const {
  ui::PictureRequest request;
  if (!missing_.isEmpty()) return request;
  request.steps = static_cast<int>(config_.default_steps);
  request.guidance = config_.default_guidance;
  return request;
}

PipelineInfo GuiPreviewService::pipeline() const {
  if (!missing_.isEmpty()) return {"ShapesPipeline", "ShapesTransformer2DModel", {}, {}};
  return pipeline_of(config_);
}

Expected<std::unique_ptr<Job>> GuiPreviewService::job(const ui::PictureRequest& request) const {
  if (!missing_.isEmpty()) return fail(ui::utf8_of(missing_));
  const GenerationSettings generation = generation_of(request);
  if (auto good = check_settings(generation, config_); !good) return fail(good.error());
  return make_picture_job(shelf_, settings_of(generation, engine_.target().name, engine_), slot_);
}

Expected<CallSchedule> GuiPreviewService::schedule(const ui::PictureRequest& request) const {
  if (!missing_.isEmpty()) return fail(ui::utf8_of(missing_));
  const GenerationSettings generation = generation_of(request);
  if (auto good = check_settings(generation, config_); !good) return fail(good.error());
  return picture_schedule(generation, config_);
}

Expected<std::function<Expected<std::unique_ptr<LeverJob>>()>> GuiPreviewService::lever_job(
    const ui::PictureRequest& request) const {
  if (!missing_.isEmpty()) return fail(ui::utf8_of(missing_));
  const GenerationSettings generation = generation_of(request);
  if (auto good = check_settings(generation, config_); !good) return fail(good.error());
  return [shelf = shelf_, generation]() -> Expected<std::unique_ptr<LeverJob>> {
    const auto model = shelf->take();
    if (!model) return fail(model.error());
    return make_lever_job(*model, generation);
  };
}

void GuiPreviewService::save(const QString& path, const ui::MadePicture& made) {
  worker_.post([this, path, made, address = postbox_.address()] {
    ui::SavedPicture result{path, {}};
    const auto done = save_picture(path_of(path), picture_of(made.image), settings_of(made));
    if (!done) result.error = ui::text_of(done.error());
    address.post([this, result] { emit saved(result); });
  });
}

void GuiPreviewService::open(const QString& path) {
  worker_.post([this, path, address = postbox_.address()] {
    address.post([this, result = opened_from(path)] { emit opened(result); });
  });
}

void GuiPreviewService::compare(const ui::MadePicture& baseline, const ui::MadePicture& picture, const QObject* asker) {
  auto& newest = newest_comparisons_[asker];
  if (!newest) newest = std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::uint64_t number = ++*newest;
  worker_.post([this, number, newest, baseline, picture, asker, address = postbox_.address()] {
    if (number != *newest) return;
    ui::PictureComparison result = comparison_of(baseline, picture);
    result.asker = asker;
    address.post([this, number, newest, result = std::move(result)] {
      if (number == *newest) emit compared(result);
    });
  });
}

}  // namespace attn::app
