// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/worker.h"
#include "app/jobs/presets/presets.h"
#include "ui/control_panel/preset_service.h"
#include "ui/link/postbox.h"

#include <functional>
#include <memory>

namespace attn::app {

/// Presets for the window.
class GuiPresetService final : public ui::PresetService {
  Q_OBJECT

 public:
  /// `engine` outlives this.
  explicit GuiPresetService(Engine& engine, QObject* parent = nullptr);
  ~GuiPresetService() override;

  [[nodiscard]] const ui::PresetState& state() const override { return state_; }
  void choose(const QString& name) override;
  void save(const QString& name) override;
  void rename(const QString& from, const QString& to) override;
  void remove(const QString& name) override;
  void import_file(const QString& path) override;
  void export_file(const QString& name, const QString& path) override;

 private:
  /// Does `work` on the worker; its error, or the name to be chosen from then on, comes back.
  void act(std::function<Expected<std::string>()> work);
  void look();
  void take(const ui::PresetState& seen);

  Engine& engine_;
  const PresetShelf shelf_;
  ui::PresetState state_;
  bool looking_ = false;
  bool stale_ = false;
  ui::Postbox postbox_;
  Worker worker_;
  std::shared_ptr<void> subscription_;  ///< last: ends first
};

}  // namespace attn::app
