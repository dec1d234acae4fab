// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/preview_slot.h"
#include "app/jobs/pipeline/picture_file.h"
#include "app/jobs/pipeline/shapes_job.h"

#include <filesystem>
#include <memory>
#include <mutex>

namespace attn::app {

/// The bundled model, read when it is first needed and kept.
class ModelShelf {
 public:
  explicit ModelShelf(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Reads it on the calling thread. Error: the file and what is wrong in it.
  [[nodiscard]] Expected<std::shared_ptr<ShapesModel>> take();
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::shared_ptr<ShapesModel> model_;
};

/// Puts a generation's frames into the window's slot.
class SlotObserver final : public GenerationObserver {
 public:
  SlotObserver(std::shared_ptr<PreviewSlot> slot, PictureSettings settings);
  /// The model is being read; no picture yet.
  void begin();
  void step_done(const GenerationStep& step) override;
  void finished(const GenerationResult& result) override;

 private:
  std::shared_ptr<PreviewSlot> slot_;
  ui::PreviewFrame frame_;  ///< what all frames share
};

/// A generation by the bundled model, shown step by step. The model is read on the job's thread.
[[nodiscard]] std::unique_ptr<Job> make_picture_job(std::shared_ptr<ModelShelf> shelf, PictureSettings settings,
                                                    std::shared_ptr<PreviewSlot> slot);

[[nodiscard]] GenerationSettings generation_of(const ui::PictureRequest& request);
[[nodiscard]] ui::PictureRequest request_of(const GenerationSettings& settings);
[[nodiscard]] QImage image_of(const Picture& picture);
[[nodiscard]] Picture picture_of(const QImage& image);
[[nodiscard]] ui::MadePicture made_of(QImage image, const PictureSettings& settings);
[[nodiscard]] PictureSettings settings_of(const ui::MadePicture& made);

}  // namespace attn::app
