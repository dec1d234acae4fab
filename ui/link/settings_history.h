// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/settings/history.h"
#include "ui/link/engine_link.h"

#include <QElapsedTimer>
#include <QObject>
#include <string>
#include <vector>

class QAction;

namespace attn::ui {

class JobControl;

/// Everything that a person sets, at one moment. Results are no part of it.
struct SettingsPoint {
  Target target;
  OptionValues values;
  AttentionChoices attention;
  std::vector<std::string> required;

  /// Targets are told apart by name: what a probe finds out about one is no edit.
  friend bool operator==(const SettingsPoint& a, const SettingsPoint& b);
};
/// What is set now.
[[nodiscard]] SettingsPoint settings_point(const Engine& engine, const JobControl& jobs);
/// "KV budget 30 % → 45 %", "3 settings": what lies between two points.
[[nodiscard]] QString step_text(const OptionStates& states, const SettingsPoint& before, const SettingsPoint& after);

/// Undo and redo of settings, wherever they were changed: it watches the engine, so an import, a preset or a tuned
/// choice is a step like a click. Never touches results. GUI thread.
class SettingsHistory final : public QObject {
  Q_OBJECT

 public:
  SettingsHistory(EngineLink& link, JobControl& jobs, QObject* parent = nullptr);

  /// The actions "edit.undo" and "edit.redo", Ctrl+Z and Ctrl+Shift+Z.
  [[nodiscard]] QAction* undo_action() const noexcept { return undo_; }
  [[nodiscard]] QAction* redo_action() const noexcept { return redo_; }
  /// Changes until end() are one step of this name, however many events they come in.
  void begin(const QString& name);
  void end();
  /// Puts an earlier point in force again, as one step of this name that can be undone like any other.
  void restore(const SettingsPoint& to, const QString& name);
  [[nodiscard]] SettingsPoint point() const;
  [[nodiscard]] EngineLink& link() const noexcept { return link_; }

 private:
  void record();
  void go(const SettingsPoint& to);
  void show_actions();

  EngineLink& link_;
  JobControl& jobs_;
  QElapsedTimer clock_;
  History<SettingsPoint> history_;
  QString group_;
  int groups_ = 0;
  qint64 stepped_at_ = 0;  ///< milliseconds on the clock
  QAction* undo_;
  QAction* redo_;
};

}  // namespace attn::ui
