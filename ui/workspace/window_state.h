// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/workspace.h"

#include <QObject>

class QMainWindow;
class QSplitter;
class QTabBar;

namespace attn::ui {

class ControlPanel;
class EngineLink;
class RoutePanel;
class Selection;
class SettingsHistory;
class TimelinePanel;
class WorkloadPanel;

/// What of a window a workspace is made of. Everything outlives who holds this.
struct WindowParts {
  QMainWindow& window;
  Services services;
  EngineLink& link;
  SettingsHistory& history;
  Selection& selection;
  WorkloadPanel& workload;
  RoutePanel& routes;
  ControlPanel& control;
  TimelinePanel& timeline;
  QSplitter& center;
  QTabBar& charts;
  QTabBar& side;
};

/// The window as a value, and back: the three ways to begin again are apart here too. GUI thread.
class WindowState final : public QObject {
  Q_OBJECT

 public:
  /// Of QMainWindow::saveState(); another one would hide docks that it does not know.
  static constexpr int kLayoutVersion = 2;

  explicit WindowState(const WindowParts& parts, QObject* parent = nullptr);

  /// Takes no longer than a frame.
  [[nodiscard]] Workspace take() const;
  /// Makes the window what `workspace` says; settings are one step back, named `name`. Error: a sentence, and then
  /// nothing has changed; also while a job runs.
  [[nodiscard]] Expected<void> put(const Workspace& workspace, const QString& name);

  [[nodiscard]] LayoutState layout() const;
  void put_layout(const LayoutState& layout);
  /// Zoom, filter, columns, order and grouping as at the first start. Settings and panels stay.
  void reset_view();
  /// Every setting and choice to its default, as one step back. View and panels stay.
  void reset_options();

  [[nodiscard]] const std::optional<RunContext>& run() const noexcept { return run_; }
  [[nodiscard]] const WindowParts& parts() const noexcept { return parts_; }

 private:
  void watch_runs();
  [[nodiscard]] Expected<void> check_workload(const RunRequest& request) const;
  [[nodiscard]] std::map<QString, QVariant> view() const;
  void put_view(const std::map<QString, QVariant>& view);
  void put_workload(const RunRequest& request);

  WindowParts parts_;
  std::optional<RunContext> run_;
};

}  // namespace attn::ui
