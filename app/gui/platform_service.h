// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/job_control.h"
#include "app/gui/worker.h"
#include "app/jobs/compare/repeat.h"
#include "app/jobs/platform/platform.h"
#include "ui/link/postbox.h"
#include "ui/platform/platform_service.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

namespace attn::app {

/// What really works on the target's machine, for the window.
class GuiPlatformService final : public ui::PlatformService {
  Q_OBJECT

 public:
  /// `engine` and `jobs` outlive this.
  GuiPlatformService(Engine& engine, GuiJobControl& jobs, QObject* parent = nullptr);
  ~GuiPlatformService() override;

  [[nodiscard]] const ui::PlatformState& state() const override { return state_; }
  void probe() override;
  void need_packages() override;
  void choose_python(const QString& program) override;
  void read_log(const QString& path) override;
  void set_workload(const ui::RunRequest& request) override;
  void state_math_only(bool only) override;
  void lift_quarantine(int at) override;
  [[nodiscard]] Expected<void> repeat() override;

 private:
  /// Kernels, forecast and quarantine, on the worker.
  void look();
  void look_for_packages();
  /// Which overrides are switched on now.
  void link();
  void show_packages();
  void take_repeats(const Expected<std::vector<RepeatRow>>& rows);

  Engine& engine_;
  GuiJobControl& jobs_;
  ui::PlatformState state_;
  std::optional<PackageReport> packages_;
  std::optional<ui::RunRequest> workload_;
  std::atomic<std::uint64_t> newest_look_{0};
  std::stop_source packages_stop_;
  ui::Postbox postbox_;
  Worker worker_;                       ///< quick looks
  std::unique_ptr<Worker> importer_;    ///< imports packages, which may take a while
  std::shared_ptr<void> subscription_;  ///< last: ends first
};

}  // namespace attn::app
