// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/job_control.h"
#include "app/gui/lever_jobs.h"
#include "app/gui/worker.h"
#include "ui/levers/levers_service.h"
#include "ui/link/postbox.h"
#include "ui/link/settings_history.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace attn::app {

/// Measuring the levers and tuning, for the window.
class GuiLeversService final : public ui::LeversService {
  Q_OBJECT

 public:
  /// `engine` and `jobs` outlive this.
  GuiLeversService(Engine& engine, GuiJobControl& jobs, QObject* parent = nullptr);
  ~GuiLeversService() override;

  [[nodiscard]] const ui::LeversState& state() const override { return state_; }
  void set_workload(const ui::RunRequest& request) override;
  [[nodiscard]] Expected<void> measure(const QStringList& names, int repeat, bool resume) override;
  void use(const QString& name) override;
  void put_back() override;
  void open(const QString& path) override;
  void save(const QString& path) override;
  [[nodiscard]] Expected<void> tune(const ui::TuneWish& wish) override;
  void apply_tune() override;
  void undo_tune() override;

  /// What is measured so far, and what was set when it began.
  [[nodiscard]] const LeverResult& result() const noexcept { return result_; }
  [[nodiscard]] const ui::SettingsPoint& measured_at() const noexcept { return measured_at_; }

 private:
  /// Values and choices at one moment.
  struct Before {
    SettingList settings;
    AttentionChoices attention;
  };
  /// What decides which rows belong together: settings, target and, beside them, the workload.
  struct Given {
    std::string settings;
    std::vector<LeverVariant> variants;
  };
  void refresh();
  void take_given(const Given& given);
  void take_rows(const LeverResult& rows);
  void take_progress(const LeverProgress& progress);
  void take_tune(const Expected<TuneResult>& result);
  void take_end(const ui::RunEnd& end);
  void show_rows();
  [[nodiscard]] Expected<LeverJobFactory> factory() const;
  [[nodiscard]] std::string title(const char* what) const;

  Engine& engine_;
  GuiJobControl& jobs_;
  ui::LeversState state_;
  std::optional<ui::RunRequest> workload_;
  Given given_;
  LeverResult result_;
  std::string measured_with_;  ///< settings of result_
  ui::SettingsPoint measured_at_;
  QStringList asked_;  ///< variants of the last measure()
  int repeat_ = 3;
  bool measuring_ = false;
  bool tuning_ = false;
  std::optional<TuneResult> tuned_;
  std::optional<Before> before_;  ///< the worker's
  std::atomic<std::uint64_t> newest_{0};
  ui::Postbox postbox_;
  Worker worker_;
  std::shared_ptr<void> subscription_;  ///< last: ends first
};

}  // namespace attn::app
