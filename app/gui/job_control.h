// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job_runner.h"
#include "app/jobs/profile/profile.h"
#include "app/jobs/profile/schedule.h"
#include "ui/link/postbox.h"
#include "ui/services.h"
#include "ui/sparse/sparse_service.h"

#include <memory>

namespace attn::trace {
class Collector;
}

namespace attn::app {

class GuiPreviewService;
struct Requirement;

/// Runs profile jobs and generations for the window. All members are the GUI thread's; the job has its own.
class GuiJobControl final : public ui::JobControl {
  Q_OBJECT

 public:
  /// Everything referred to outlives this. `observer` is fed by the job's thread.
  GuiJobControl(ProfileLibrary library, Engine& engine, const GuiPreviewService& pictures, RouteObserver& observer,
                trace::Collector& collector, QObject* parent = nullptr);
  ~GuiJobControl() override;

  [[nodiscard]] const std::vector<ui::ModelInfo>& models() const override { return models_; }
  [[nodiscard]] Expected<void> run(const ui::RunRequest& request) override;
  void stop() override { runner_.stop(); }
  [[nodiscard]] bool running() const override { return running_; }

  /// How a job is shown.
  struct Showing {
    bool new_run = true;  ///< its calls replace those of the last run; false: it leaves the trace alone
    QString noun = QStringLiteral("call");  ///< what its progress counts
  };
  /// Runs any job the way run() does.
  [[nodiscard]] Expected<void> start(std::unique_ptr<Job> job, const Showing& showing);
  [[nodiscard]] Expected<void> start(std::unique_ptr<Job> job) { return start(std::move(job), Showing()); }

  /// The calls of a workload. Error: an unknown model, inputs that it does not have, or a picture that cannot be drawn.
  [[nodiscard]] Expected<CallSchedule> schedule_of(const ui::RunRequest& request) const;
  [[nodiscard]] const ProfileLibrary& library() const noexcept { return library_; }
  [[nodiscard]] const GuiPreviewService& pictures() const noexcept { return pictures_; }
  /// What the last run() published.
  [[nodiscard]] const ui::RunFacts& last_run() const noexcept { return last_run_; }

 signals:
  /// A run is about to start; its calls replace the last one's.
  void run_begins();

 private:
  [[nodiscard]] static bool draws(const ui::RunRequest& request);
  [[nodiscard]] ui::PictureRequest picture_of(const ui::RunRequest& request) const;
  [[nodiscard]] std::vector<Requirement> requirements() const;

  ProfileLibrary library_;
  std::vector<ui::ModelInfo> models_;
  Engine& engine_;
  const GuiPreviewService& pictures_;
  RouteObserver& observer_;
  trace::Collector& collector_;
  ui::RunFacts last_run_;
  bool running_ = false;  ///< from start() until ended() is emitted
  ui::Postbox postbox_;
  JobRunner runner_;  ///< last: ends first
};

/// The inputs of a profile as a form shows them.
[[nodiscard]] ui::ModelInfo model_info(const Profile& profile, const ProfileLibrary& library);

}  // namespace attn::app
