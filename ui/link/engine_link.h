// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "ui/link/option_state.h"
#include "ui/link/postbox.h"

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace attn::ui {

/// The engine as the window sees it: its events brought to the GUI thread, and the one way to change a setting.
/// Every signal arrives on the GUI thread.
class EngineLink final : public QObject {
  Q_OBJECT

 public:
  explicit EngineLink(Engine& engine, QObject* parent = nullptr);

  [[nodiscard]] Engine& engine() noexcept { return engine_; }
  [[nodiscard]] const Engine& engine() const noexcept { return engine_; }
  /// As of the last settings_changed().
  [[nodiscard]] const OptionStates& states() const noexcept { return states_; }

  /// False: refused; refused() has said why.
  bool set(std::string_view key, OptionValue value);
  /// All or none.
  bool set_all(const std::vector<std::pair<std::string, OptionValue>>& changes);
  void set_target(Target target);

 signals:
  /// Values, what is pending, the chain or the target changed; once for a burst of changes.
  void settings_changed();
  void chain_rebuilt(const QString& old_chain, const QString& new_chain);
  void job_running_changed(bool running);
  void refused(const QString& key, const QString& sentence);

 private:
  void take(const EngineEvent& event);
  void take_job(std::optional<OptionValues> began_with);
  void refresh_soon();
  void refresh();

  Engine& engine_;
  OptionStates states_;
  std::optional<OptionValues> job_began_with_;  ///< while a job runs
  bool refresh_queued_ = false;
  Postbox postbox_;
  std::shared_ptr<void> subscription_;
};

}  // namespace attn::ui
