// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/error_service.h"
#include "app/gui/export_service.h"
#include "app/gui/job_control.h"
#include "app/gui/levers_service.h"
#include "app/gui/platform_service.h"
#include "app/gui/policy_service.h"
#include "app/gui/preset_service.h"
#include "app/gui/preview_service.h"
#include "app/gui/selection_keeper.h"
#include "app/gui/sparse_service.h"
#include "app/gui/trace_source.h"
#include "app/gui/workspace_service.h"
#include "trace/collector.h"
#include "ui/log/log_feed.h"
#include "ui/services.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace attn::app {

/// The targets that the window offers.
class GuiTargets final : public ui::TargetList {
 public:
  explicit GuiTargets(std::vector<Target> targets) : targets_(std::move(targets)) {}
  [[nodiscard]] const std::vector<Target>& targets() const override { return targets_; }

 private:
  std::vector<Target> targets_;
};

/// The composition root of the window: engine, backends, trace, jobs and services, in the order in which they stand
/// on each other. Made and destroyed on the GUI thread.
class Workbench {
 public:
  /// Reads profiles and targets. Error: a sentence that names the file. `target` is the machine to begin with; a name
  /// that is not in the list is an error too. `model` is the folder of the model that draws, empty: the bundled one;
  /// what is missing in it is said in the window.
  [[nodiscard]] static Expected<std::unique_ptr<Workbench>> open(const std::string& target = "rtx-3090",
                                                                 std::filesystem::path model = {});
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  [[nodiscard]] ui::Services services();
  [[nodiscard]] Engine& engine() noexcept { return engine_; }
  [[nodiscard]] GuiJobControl& jobs() noexcept { return jobs_; }
  [[nodiscard]] GuiWorkspaceService& workspace() noexcept { return workspace_; }

 private:
  Workbench(ProfileLibrary library, std::vector<Target> targets, Target first, const std::filesystem::path& model);

  ui::LogFeed log_;
  GuiTargets targets_;
  Engine engine_;
  trace::EventRing ring_;
  trace::RingObserver observer_;
  SelectionKeeper selections_;
  GuiTraceSource trace_;
  trace::Collector collector_;
  std::shared_ptr<void> rebuild_watch_;
  GuiExportService exports_;
  GuiPolicyService policy_;
  GuiPreviewService pictures_;
  GuiJobControl jobs_;
  GuiSparseService sparse_;
  GuiPlatformService platform_;
  GuiLeversService levers_;
  GuiPresetService presets_;
  GuiWorkspaceService workspace_;
  GuiErrorService errors_;
};

}  // namespace attn::app
