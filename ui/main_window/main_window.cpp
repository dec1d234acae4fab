// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window/main_window.h"

#include "ui/block_mask/block_mask_panel.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/commands/command_palette.h"
#include "ui/compare/compare_desk.h"
#include "ui/compare/compare_page.h"
#include "ui/control_panel/control_panel.h"
#include "ui/control_panel/preset_service.h"
#include "ui/explain/explain_panel.h"
#include "ui/export/export_dialog.h"
#include "ui/export/file_drop.h"
#include "ui/export/import_dialog.h"
#include "ui/format/format.h"
#include "ui/levers/levers_page.h"
#include "ui/log/log_panel.h"
#include "ui/main_window/status_line.h"
#include "ui/panel/panel_title.h"
#include "ui/platform/platform_page.h"
#include "ui/preview/picture_form.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/sparse/sweep_page.h"
#include "ui/step_chart/step_chart.h"
#include "ui/stored/stored_banner.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/file_opener.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QPushButton>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolBar>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

MainWindow::MainWindow(const Services& services, Theme& theme, std::unique_ptr<QSettings> settings)
    : services_(services),
      theme_(theme),
      settings_(std::move(settings)),
      link_(services.engine),
      history_(link_, services.jobs, this),
      sparse_(link_, services.sparse, selection_) {
  setObjectName("main_window");
  setWindowTitle(tr("Attnscope"));
  setWindowIcon(QIcon(":/icons/attnscope.svg"));
  setDockNestingEnabled(true);
  // The side docks reach from top to bottom only beside the log where they would be in its way.
  setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
  make_center();
  make_docks();
  make_bars();
  make_workspace();
  make_commands();
  connect_panels();
  reset_layout();
  restore();
  new FileDrop(this, [this](const QString& path) { opener_->open(path); });
  take_run();
  status_->show_chain(text_of(services_.engine.plan()->chain()));
  setFocus(Qt::OtherFocusReason);  // no control looks chosen before a person has chosen one
}

MainWindow::~MainWindow() = default;

void MainWindow::make_center() {
  auto* center = new QWidget(this);
  set_look(center, "panel");
  auto* column = new QVBoxLayout(center);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  workload_ = new WorkloadPanel(services_.jobs, services_.pictures, theme_, center);
  routes_ = new RoutePanel(selection_, theme_, center);
  center_ = new QSplitter(Qt::Vertical, center);
  center_->setHandleWidth(1);
  center_->setChildrenCollapsible(false);
  center_->addWidget(make_charts(center_));
  center_->addWidget(routes_);
  center_->setStretchFactor(0, 1);
  center_->setStretchFactor(1, 2);
  notice_ = new NoticeBanner(center);
  stored_ = new StoredBanner(theme_, center);
  column->addWidget(notice_);
  column->addWidget(stored_);
  column->addWidget(workload_);
  column->addWidget(make_pages(center), 1);
  setCentralWidget(center);
}

QWidget* MainWindow::make_charts(QWidget* parent) {
  auto* charts = new QWidget(parent);
  auto* column = new QVBoxLayout(charts);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* title = new PanelTitle(tr("Charts"), theme_, charts);
  charts_ = title->use_tabs({tr("Timeline"), tr("Per step"), tr("Budget sweep"), tr("Levers"), tr("Compare")});
  charts_->setObjectName("chart_tabs");
  auto* pages = new QStackedWidget(charts);
  // A page in front scrolls or elides; the one that needs most must not make every window as high as itself.
  pages->setMinimumHeight(96);
  timeline_ = new TimelinePanel(selection_, theme_, pages);
  steps_ = new StepChart(selection_, sparse_, theme_, pages);
  sweep_ = new SweepPage(sparse_, services_.jobs, theme_, pages);
  levers_ = new LeversPage(services_.levers, services_.jobs, theme_, pages);
  compare_ = new CompareDesk(services_, theme_, pages);
  for (QWidget* page : std::initializer_list<QWidget*>{timeline_, steps_, sweep_, levers_, compare_->page()})
    pages->addWidget(page);
  column->addWidget(title);
  column->addWidget(pages, 1);
  const auto say = [this, title] {
    const QString facts[] = {timeline_->facts(), steps_->facts(), sweep_->facts(), levers_->facts(),
                             compare_->page()->facts()};
    title->set_facts(facts[charts_->currentIndex()]);
  };
  connect(charts_, &QTabBar::currentChanged, pages, [this, pages, say](int page) {
    pages->setCurrentIndex(page);
    say();
    if (page >= kSweepTab) give_sweep_room();
  });
  connect(timeline_, &TimelinePanel::facts_changed, title, say);
  connect(steps_, &StepChart::facts_changed, title, say);
  connect(sweep_, &SweepPage::facts_changed, title, say);
  connect(levers_, &LeversPage::facts_changed, title, say);
  connect(compare_->page(), &ComparePage::facts_changed, title, say);
  connect(compare_->page(), &ComparePage::shown_wanted, this, &MainWindow::show_compare);
  return charts;
}

QDockWidget* MainWindow::make_dock(const char* name, const QString& title, QWidget* panel, PanelTitle* strip,
                                   Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(panel);
  strip->setParent(dock);
  strip->serve(dock);
  dock->setTitleBarWidget(strip);
  addDockWidget(area, dock);
  docks_.push_back(dock);
  return dock;
}

void MainWindow::make_docks() {
  control_ = new ControlPanel(link_, services_, sparse_, theme_, this);
  auto* control_title = new PanelTitle(tr("Control panel"), theme_, this);
  make_dock("control_dock", tr("Control panel"), control_, control_title, Qt::LeftDockWidgetArea);
  connect(control_, &ControlPanel::marked, control_title, &PanelTitle::set_marks);

  auto* route_pages = new QStackedWidget(this);
  explain_ = new ExplainPanel(link_, selection_, theme_, route_pages);
  block_mask_ = new BlockMaskPanel(sparse_, theme_, route_pages);
  route_pages->addWidget(explain_);
  preview_ = new PreviewPanel(services_.pictures, services_.jobs, theme_, route_pages);
  route_pages->addWidget(block_mask_);
  route_pages->addWidget(preview_);
  auto* route_title = new PanelTitle(tr("Explain"), theme_, this);
  route_tabs_ = route_title->use_tabs({tr("Explain"), tr("Block mask"), tr("Preview")});
  route_tabs_->setObjectName("route_tabs");
  connect(route_tabs_, &QTabBar::currentChanged, route_pages, &QStackedWidget::setCurrentIndex);
  route_dock_ = make_dock("explain_dock", tr("Explain, block mask and preview"), route_pages, route_title,
                          Qt::RightDockWidgetArea);

  platform_ = new PlatformPage(services_.platform, theme_, this);
  auto* platform_title = new PanelTitle(tr("Platform"), theme_, this);
  platform_dock_ = make_dock("platform_dock", tr("Platform"), platform_, platform_title, Qt::RightDockWidgetArea);
  docks_.pop_back();  // shown when somebody asks for it
  setTabPosition(Qt::RightDockWidgetArea, QTabWidget::North);

  log_ = new LogPanel(services_.log, theme_, this);
  auto* log_title = new PanelTitle(tr("Trace log"), theme_, this);
  QTabBar* tabs = log_title->use_tabs({tr("Trace log"), tr("Problems")});
  make_dock("log_dock", tr("Trace log"), log_, log_title, Qt::BottomDockWidgetArea);
  connect(tabs, &QTabBar::currentChanged, log_, [this](int tab) { log_->show_problems(tab == 1); });
  connect(log_, &LogPanel::problem_count_changed, tabs,
          [tabs](int count) { tabs->setTabText(1, tr("Problems %1").arg(count)); });
  const auto say = [log_title](bool follows) {
    log_title->set_facts(follows ? tr("SD_ATTN_DEBUG · following")
                                 : tr("SD_ATTN_DEBUG · scrolled back, End follows again"));
  };
  connect(log_, &LogPanel::follow_changed, log_title, say);
  say(true);
}

void MainWindow::make_bars() {
  auto* bar = new QToolBar(tr("Run"), this);
  bar->setObjectName("run_bar");
  bar->setMovable(false);
  bar->setFloatable(false);
  bar->addWidget(workload_->header());
  auto* spacer = new QWidget(bar);
  spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(spacer);
  const auto button = [&](const QString& text, const QString& icon, const QString& tip, void (MainWindow::*slot)()) {
    auto* made = new QPushButton(text, bar);
    made->setToolTip(tip);
    const auto paint = [this, made, icon] { made->setIcon(theme_.icon(icon)); };
    paint();
    connect(&theme_, &Theme::changed, made, paint);
    connect(made, &QPushButton::clicked, this, slot);
    bar->addWidget(made);
    return made;
  };
  button(tr("Import…"), "import", tr("Take settings out of a file of another system (Ctrl+I), or drop one here"),
         &MainWindow::show_import)
      ->setObjectName("import");
  button(tr("Export…"), "export", tr("The settings as another system reads them: text, or a file (Ctrl+E)"),
         &MainWindow::show_export)
      ->setObjectName("export");
  button(tr("Commands"), "search", tr("Finds everything by a few of its letters (Ctrl+Shift+P)"),
         &MainWindow::show_palette)
      ->setObjectName("open_palette");
  addToolBar(Qt::TopToolBarArea, bar);
  addToolBarBreak();

  chain_bar_ = new ChainBar(history_, theme_, this);
  auto* chain = new QToolBar(tr("Chain"), this);
  chain->setObjectName("chain_tool_bar");
  chain->setMovable(false);
  chain->setFloatable(false);
  chain->layout()->setContentsMargins(0, 0, 0, 0);
  chain_bar_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  chain->addWidget(chain_bar_);
  addToolBar(Qt::TopToolBarArea, chain);

  status_ = new StatusLine(this);
  setStatusBar(status_);
}

void MainWindow::connect_panels() {
  connect(&services_.trace, &TraceSource::changed, this, &MainWindow::take_run);
  connect(&link_, &EngineLink::settings_changed, this,
          [this] { status_->show_chain(text_of(services_.engine.plan()->chain())); });
  connect(workload_, &WorkloadPanel::progressed, status_, &StatusLine::show_progress);
  connect(workload_, &WorkloadPanel::ran, this, [this](bool running) {
    run_->setEnabled(!running);
    stop_->setEnabled(running);
    if (running) steps_->expect_steps(0);
    timeline_->view().set_running(running);
  });
  connect(workload_, &WorkloadPanel::progressed, steps_, [this](const RunProgress& progress, double) {
    if (progress.steps > 0) steps_->expect_steps(progress.steps);
  });
  const auto workload = [this](const QString& model, int steps) { sparse_.set_workload(model, steps); };
  connect(workload_, &WorkloadPanel::workload_changed, this, workload);
  const RunRequest request = workload_->request();
  const auto steps = request.inputs.find("steps");
  workload(request.model, steps == request.inputs.end() ? 0 : static_cast<int>(steps->second));
  connect(&services_.exports, &ExportService::applying, this, [this] { history_.begin(tr("import")); });
  connect(&services_.exports, &ExportService::imported, this, [this] { history_.end(); });
  connect(&services_.presets, &PresetService::applying, this,
          [this](const QString& name) { history_.begin(tr("preset %1").arg(name)); });
  connect(&services_.presets, &PresetService::applied, this, [this] { history_.end(); });
  compare_->serve({*workload_, *routes_, *steps_, *timeline_, *preview_, selection_});
  connect_platform();
  stop_->setEnabled(false);
  connect_preview();
}

void MainWindow::connect_platform() {
  const auto tell = [this] {
    services_.platform.set_workload(workload_->request());
    services_.levers.set_workload(workload_->request());
  };
  connect(workload_, &WorkloadPanel::workload_changed, this, tell);
  tell();
  connect(&services_.platform, &PlatformService::changed, control_,
          [this] { control_->show_kernels(services_.platform.state().kernels); });
  connect(platform_, &PlatformPage::override_wanted, control_, &ControlPanel::search_for);
  connect(&services_.levers, &LeversService::applying, this, [this](const QString& name) { history_.begin(name); });
  connect(&services_.levers, &LeversService::applied, this, [this] { history_.end(); });
}

void MainWindow::connect_preview() {
  connect(workload_, &WorkloadPanel::workload_changed, this, [this](const QString&, int) {
    const bool draws = workload_->draws();
    if (draws && !drew_) route_tabs_->setCurrentIndex(2);
    if (!draws && drew_ && route_tabs_->currentIndex() == 2) route_tabs_->setCurrentIndex(0);
    drew_ = draws;
  });
  connect(workload_, &WorkloadPanel::ran, this, [this](bool running) {
    if (running && workload_->draws()) show_preview();
  });
  connect(preview_, &PreviewPanel::baseline_kept, this, [this] { workload_->form().keep_seed(); });
  connect(preview_, &PreviewPanel::settings_opened, this, &MainWindow::take_picture_settings);
}

void MainWindow::take_picture_settings(const MadePicture& made) {
  for (const ModelInfo& model : services_.jobs.models()) {
    if (model.draws) workload_->choose_model(model.id);
  }
  workload_->form().set_request(made.request);
  workload_->form().keep_seed();
  const std::vector<Target>& targets = services_.targets.targets();
  const auto target =
      std::find_if(targets.begin(), targets.end(), [&](const Target& one) { return text_of(one.name) == made.target; });
  if (target == targets.end()) {
    preview_->say_problem(tr("The target %1 of this picture is not in the list; it stays as it is.").arg(made.target));
  } else if (target->name != services_.engine.target().name) {
    link_.set_target(*target);
  }
  const Expected<bool> set = services_.engine.set_all(made.settings);
  if (!set) preview_->say_problem(text_of(set.error()));
}

void MainWindow::take_run() {
  const trace::TraceSnapshot run = services_.trace.snapshot();
  if (run.revision == shown_revision_) return;
  shown_revision_ = run.revision;
  const trace::CallView calls = services_.trace.calls();
  selection_.set_run(calls.run());
  routes_->set_run(run);
  routes_->set_calls(calls);
  timeline_->set_calls(calls);
  steps_->set_run(run);
  chain_bar_->set_run(run);
  sparse_.set_run(run);
  control_->set_run(run);
  explain_->set_run(run);
  status_->show_dropped(run.dropped);
}

void MainWindow::show_export() { open_export(); }
void MainWindow::show_import() { open_import(); }
void MainWindow::show_palette() { palette_->open(); }

ExportDialog* MainWindow::open_export() {
  if (export_ == nullptr) {
    export_ = new ExportDialog(services_.exports, services_.targets, theme_, this);
    if (settings_) export_->restore(*settings_);
    connect(&link_, &EngineLink::settings_changed, export_, &ExportDialog::refresh);
  }
  export_->set_steps(sparse_.steps());
  export_->show();
  export_->refresh();
  export_->raise();
  export_->activateWindow();
  return export_;
}

ImportDialog* MainWindow::open_import() {
  if (import_ == nullptr) import_ = new ImportDialog(services_.exports, theme_, this);
  import_->set_steps(sparse_.steps());
  import_->show();
  import_->raise();
  import_->activateWindow();
  return import_;
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    workload_->stop();
    return;
  }
  QMainWindow::keyPressEvent(event);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  save();
  document_->finish();
  services_.jobs.stop();
  QMainWindow::closeEvent(event);
}

}  // namespace attn::ui
