// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/preview_slot.h"
#include "app/gui/worker.h"
#include "app/jobs/job.h"
#include "app/jobs/levers/lever_job.h"
#include "app/jobs/pipeline/config.h"
#include "app/jobs/profile/schedule.h"
#include "ui/preview/preview_service.h"
#include "ui/sparse/sparse_service.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

namespace attn::app {

class ModelShelf;

/// The bundled model for the window. Only its short configuration is read at once; the weights are read by the first
/// job that needs them.
class GuiPreviewService final : public ui::PreviewService {
  Q_OBJECT

 public:
  /// `folder` has config.json and shapes.safetensors. `engine` outlives this.
  GuiPreviewService(Engine& engine, const std::filesystem::path& folder, QObject* parent = nullptr);
  ~GuiPreviewService() override;

  [[nodiscard]] QString missing() const override { return missing_; }
  [[nodiscard]] const QStringList& words() const override { return words_; }
  [[nodiscard]] QString prompt_problem(const QString& prompt) const override;
  [[nodiscard]] ui::PictureRequest defaults() const override;
  [[nodiscard]] ui::PreviewFrame frame() const override { return slot_->newest(); }
  void save(const QString& path, const ui::MadePicture& made) override;
  void open(const QString& path) override;
  void compare(const ui::MadePicture& baseline, const ui::MadePicture& picture, const QObject* asker) override;

  /// A job that draws, and puts its frames here. Error: a sentence for the person who pressed Run.
  [[nodiscard]] Expected<std::unique_ptr<Job>> job(const ui::PictureRequest& request) const;
  /// Every call that the job would make. Error: as job().
  [[nodiscard]] Expected<CallSchedule> schedule(const ui::PictureRequest& request) const;
  /// What measures the levers on such a picture, made on the thread that calls it. Error: as job().
  [[nodiscard]] Expected<std::function<Expected<std::unique_ptr<LeverJob>>()>> lever_job(
      const ui::PictureRequest& request) const;
  /// The model as a list of models shows it.
  [[nodiscard]] static QString model_id() { return QStringLiteral("shapes"); }
  [[nodiscard]] static QString model_name() { return tr("Shapes (bundled model)"); }
  [[nodiscard]] PipelineInfo pipeline() const;

 private:
  Engine& engine_;
  std::shared_ptr<ModelShelf> shelf_;
  ShapesConfig config_;
  QString missing_;
  QStringList words_;
  std::map<const QObject*, std::shared_ptr<std::atomic<std::uint64_t>>> newest_comparisons_;  ///< by asker
  ui::Postbox postbox_;
  std::shared_ptr<PreviewSlot> slot_;
  Worker worker_;  ///< last: ends first
};

}  // namespace attn::app
