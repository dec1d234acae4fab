// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/engine_link.h"
#include "ui/link/settings_history.h"
#include "ui/selection/selection.h"
#include "ui/services.h"
#include "ui/sparse/sparse_context.h"
#include "ui/stored/stored_report.h"
#include "ui/theme/theme.h"

#include <QMainWindow>
#include <memory>

class QActionGroup;
class QSplitter;
class QSettings;
class QStackedWidget;
class QTabBar;

namespace attn::ui {

class BlockMaskPanel;
class ChainBar;
class ControlPanel;
class ExplainPanel;
class ExportDialog;
class ImportDialog;
class LeversPage;
class LogPanel;
class PanelTitle;
class PlatformPage;
class PreviewPanel;
class RoutePanel;
class StatusLine;
class StepChart;
class StoredBanner;
class SweepPage;
class TimelinePanel;
class WorkloadPanel;

/// The window: creates the panels, connects them, restores what the person arranged. Whatever decides is elsewhere.
class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  /// `settings` keeps geometry, layout and theme; null: nothing is kept.
  MainWindow(const Services& services, Theme& theme, std::unique_ptr<QSettings> settings = nullptr);
  ~MainWindow() override;

  [[nodiscard]] WorkloadPanel& workload() noexcept { return *workload_; }
  [[nodiscard]] ChainBar& chain_bar() noexcept { return *chain_bar_; }
  [[nodiscard]] ControlPanel& control() noexcept { return *control_; }
  [[nodiscard]] RoutePanel& routes() noexcept { return *routes_; }
  [[nodiscard]] Selection& selection() noexcept { return selection_; }
  [[nodiscard]] LogPanel& log() noexcept { return *log_; }
  [[nodiscard]] BlockMaskPanel& block_mask() noexcept { return *block_mask_; }
  [[nodiscard]] SweepPage& sweep() noexcept { return *sweep_; }
  [[nodiscard]] PreviewPanel& preview() noexcept { return *preview_; }
  [[nodiscard]] TimelinePanel& timeline() noexcept { return *timeline_; }
  /// Brings the panel to the front, wherever it is.
  void show_block_mask();
  void show_preview();
  void show_sweep();
  void show_platform();
  void show_levers();
  /// What became of the settings file that the window was opened with.
  void show_stored(const StoredReport& report);
  /// The default arrangement for a window of this size.
  void arrange(QSize size);
  /// Opens the dialog, or brings it to the front.
  ExportDialog* open_export();
  ImportDialog* open_import();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QDockWidget* make_dock(const char* name, const QString& title, QWidget* panel, PanelTitle* strip,
                         Qt::DockWidgetArea area);
  void make_center();
  QWidget* make_charts(QWidget* parent);
  void give_sweep_room();
  void make_docks();
  void make_bars();
  void make_menus();
  void make_theme_menu(QMenu* menu);
  void connect_panels();
  void connect_platform();
  void connect_preview();
  void take_picture_settings(const MadePicture& made);
  void take_run();
  void show_export();
  void show_import();
  void save();
  void restore();
  void reset_layout();
  void about();

  Services services_;
  Theme& theme_;
  std::unique_ptr<QSettings> settings_;
  EngineLink link_;
  SettingsHistory history_;
  Selection selection_;
  SparseContext sparse_;
  bool drew_ = false;  ///< the workload last chosen makes pictures
  std::uint64_t shown_revision_ = ~std::uint64_t{0};

  ChainBar* chain_bar_ = nullptr;
  ControlPanel* control_ = nullptr;
  WorkloadPanel* workload_ = nullptr;
  TimelinePanel* timeline_ = nullptr;
  StepChart* steps_ = nullptr;
  RoutePanel* routes_ = nullptr;
  ExplainPanel* explain_ = nullptr;
  BlockMaskPanel* block_mask_ = nullptr;
  SweepPage* sweep_ = nullptr;
  PreviewPanel* preview_ = nullptr;
  QTabBar* charts_ = nullptr;
  QTabBar* route_tabs_ = nullptr;
  QDockWidget* route_dock_ = nullptr;
  LeversPage* levers_ = nullptr;
  PlatformPage* platform_ = nullptr;
  StoredBanner* stored_ = nullptr;
  QDockWidget* platform_dock_ = nullptr;
  LogPanel* log_ = nullptr;
  StatusLine* status_ = nullptr;
  QSplitter* center_ = nullptr;
  std::vector<QDockWidget*> docks_;
  QAction* run_ = nullptr;
  QAction* stop_ = nullptr;
  QActionGroup* themes_ = nullptr;
  ExportDialog* export_ = nullptr;
  ImportDialog* import_ = nullptr;
};

}  // namespace attn::ui
