// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/commands/command_registry.h"
#include "ui/link/engine_link.h"
#include "ui/link/settings_history.h"
#include "ui/selection/selection.h"
#include "ui/services.h"
#include "ui/sparse/sparse_context.h"
#include "ui/start/examples.h"
#include "ui/stored/stored_report.h"
#include "ui/theme/theme.h"
#include "ui/workspace/layout_slots.h"
#include "ui/workspace/window_state.h"

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
class CompareDesk;
class CommandPalette;
class ControlPanel;
class ExampleRunner;
class ExplainPanel;
class ExportDialog;
class FileOpener;
class ImportDialog;
class LeversPage;
class LogPanel;
class NoticeBanner;
class PanelRing;
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
class WorkspaceDocument;

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
  [[nodiscard]] CompareDesk& compare() noexcept { return *compare_; }
  /// Brings the panel to the front, wherever it is.
  void show_block_mask();
  void show_preview();
  void show_sweep();
  void show_platform();
  void show_levers();
  void show_compare();
  /// What became of the settings file that the window was opened with.
  void show_stored(const StoredReport& report);
  /// Takes up the workspace of the last window unless `fresh`, offers what a crash left, and shows the examples at the
  /// first start of all. For a window that a person opened, before it is shown.
  void start(bool fresh);
  [[nodiscard]] CommandRegistry& commands() noexcept { return commands_; }
  [[nodiscard]] CommandPalette& palette() noexcept { return *palette_; }
  [[nodiscard]] WorkspaceDocument& document() noexcept { return *document_; }
  [[nodiscard]] WindowState& state() noexcept { return *state_; }
  [[nodiscard]] PanelRing& panels() noexcept { return *ring_; }
  /// A file of any kind that opens.
  void open_file(const QString& path);
  /// The three examples in the place of charts and lists, until something runs.
  void show_examples();
  void hide_examples();
  void show_keys();
  /// The default arrangement for a window of this size.
  void arrange(QSize size);
  /// Opens the dialog, or brings it to the front.
  ExportDialog* open_export();
  ImportDialog* open_import();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool focusNextPrevChild(bool next) override;

 private:
  static constexpr int kSweepTab = 2;  ///< of the charts
  static constexpr int kLeversTab = 3;
  static constexpr int kCompareTab = 4;

  QDockWidget* make_dock(const char* name, const QString& title, QWidget* panel, PanelTitle* strip,
                         Qt::DockWidgetArea area);
  void make_center();
  QWidget* make_charts(QWidget* parent);
  void give_sweep_room();
  void give_lists_room();
  void make_docks();
  void make_bars();
  QWidget* make_pages(QWidget* parent);
  void make_workspace();
  void make_panel_ring();
  void make_commands();
  void add_file_commands();
  void add_edit_commands();
  void add_run_commands();
  void add_view_commands();
  void add_layout_commands();
  void add_help_commands();
  void explain_commands();
  void connect_panels();
  void connect_platform();
  void connect_preview();
  void take_picture_settings(const MadePicture& made);
  void take_run();
  void show_export();
  void show_import();
  void show_palette();
  void show_chart(int tab);
  void open_example(const QString& id);
  void show_example(Example::Show show);
  void save();
  void restore();
  void reset_layout();

  Services services_;
  Theme& theme_;
  std::unique_ptr<QSettings> settings_;
  EngineLink link_;
  SettingsHistory history_;
  Selection selection_;
  SparseContext sparse_;
  CommandRegistry commands_;
  LayoutSlots slots_;
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
  CompareDesk* compare_ = nullptr;
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
  NoticeBanner* notice_ = nullptr;
  QStackedWidget* pages_ = nullptr;  ///< charts and lists, or the examples
  CommandPalette* palette_ = nullptr;
  PanelRing* ring_ = nullptr;
  WindowState* state_ = nullptr;
  WorkspaceDocument* document_ = nullptr;
  FileOpener* opener_ = nullptr;
  ExampleRunner* example_ = nullptr;
  QList<QAction*> recent_;
};

}  // namespace attn::ui
