// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/error_book.h"
#include "ui/compare/run_archive.h"
#include "ui/link/settings_history.h"
#include "ui/theme/theme.h"

#include <QList>
#include <QObject>
#include <optional>

class QAction;

namespace attn::ui {

class ComparePage;
class PreviewPanel;
class RoutePanel;
class Selection;
class StepChart;
class TimelinePanel;
class WorkloadPanel;

/// Everything of the window that has to do with other runs: it keeps the runs that end, and brings the baseline and
/// measured errors to the panels that show them. There is one baseline: a run, with its picture where it drew one.
class CompareDesk final : public QObject {
  Q_OBJECT

 public:
  static constexpr int kRunActions = 9;  ///< runs that the menu offers

  struct Panels {
    WorkloadPanel& workload;
    RoutePanel& routes;
    StepChart& steps;
    TimelinePanel& timeline;
    PreviewPanel& preview;
    Selection& selection;
  };

  CompareDesk(const Services& services, const Theme& theme, QWidget* page_parent);

  [[nodiscard]] ComparePage* page() const noexcept { return page_; }
  [[nodiscard]] RunArchive& archive() noexcept { return archive_; }
  /// After the panels have taken a change of the trace themselves.
  void serve(const Panels& panels);
  /// The page's and "route.measure_error".
  [[nodiscard]] QList<QAction*> actions() const;
  /// "compare.baseline.1" and so on: the newest runs, each of which becomes the baseline.
  [[nodiscard]] const QList<QAction*>& run_actions() const noexcept { return run_actions_; }

 private:
  void show_baseline();
  void show_notes();
  void make_run_actions();
  void show_runs();
  void measure_error(const trace::RouteRow& route);
  void show_errors();

  Services services_;
  RunArchive archive_;
  ErrorBook errors_;
  ComparePage* page_;
  QAction* measure_;
  QList<QAction*> run_actions_;
  bool keeps_picture_ = false;  ///< the preview has just kept a picture itself
  std::optional<Panels> panels_;
};

}  // namespace attn::ui
