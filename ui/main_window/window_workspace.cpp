// SPDX-License-Identifier: GPL-3.0-or-later
// The window as a document: its workspace, files that are opened, the examples of the first start, the way round it.
#include "ui/block_mask/block_mask_panel.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/commands/panel_ring.h"
#include "ui/control_panel/control_panel.h"
#include "ui/export/import_dialog.h"
#include "ui/format/format.h"
#include "ui/levers/levers_service.h"
#include "ui/log/log_panel.h"
#include "ui/main_window/main_window.h"
#include "ui/platform/platform_service.h"
#include "ui/route_table/route_panel.h"
#include "ui/sparse/sweep_page.h"
#include "ui/start/example_runner.h"
#include "ui/start/start_page.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/file_opener.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"

#include <QDockWidget>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>

namespace attn::ui {

QWidget* MainWindow::make_pages(QWidget* parent) {
  pages_ = new QStackedWidget(parent);
  auto* examples = new StartPage(theme_, pages_);
  pages_->addWidget(center_);
  pages_->addWidget(examples);
  connect(examples, &StartPage::wanted, this, &MainWindow::open_example);
  connect(examples, &StartPage::closed, this, &MainWindow::hide_examples);
  return pages_;
}

void MainWindow::make_workspace() {
  state_ = new WindowState({*this, services_, link_, history_, selection_, *workload_, *routes_, *control_, *timeline_,
                            *center_, *charts_, *route_tabs_},
                           this);
  document_ = new WorkspaceDocument(*state_, services_.workspace, *notice_, settings_.get());
  opener_ = new FileOpener(services_.workspace, *document_, *notice_, this);
  opener_->set(FileKind::settings, [this](const QString& path) { open_import()->set_path(path); });
  opener_->set(FileKind::picture, [this](const QString& path) {
    show_preview();
    services_.pictures.open(path);
  });
  opener_->set(FileKind::log, [this](const QString& path) {
    show_platform();
    services_.platform.read_log(path);
  });
  opener_->set(FileKind::levers, [this](const QString& path) {
    show_levers();
    services_.levers.open(path);
  });
  opener_->set(FileKind::mask, [this](const QString& path) {
    show_block_mask();
    block_mask_->open(path);
  });
  opener_->set(FileKind::tensors, [this](const QString& path) {
    if (services_.jobs.running()) return notice_->say(tr("A job is running; stop it before tensors are run."), "bad");
    hide_examples();
    workload_->run_tensors(path);
  });
  connect(document_, &WorkspaceDocument::restored, this, &MainWindow::hide_examples);
  example_ = new ExampleRunner(*state_);
  connect(example_, &ExampleRunner::ready, this, &MainWindow::show_example);
  connect(&services_.jobs, &JobControl::started, this, &MainWindow::hide_examples);
  connect(notice_, &NoticeBanner::shown, this, &MainWindow::give_lists_room, Qt::QueuedConnection);
  make_panel_ring();
}

void MainWindow::make_panel_ring() {
  ring_ = new PanelRing(this);
  ring_->add(findChild<QWidget*>("run_bar"), tr("Run"));
  ring_->add(chain_bar_, tr("Chain"));
  ring_->add(docks_[0], tr("Control panel"));
  ring_->add(notice_, tr("Notice"));
  ring_->add(workload_, tr("Workload"));
  ring_->add(pages_->widget(1), tr("Examples"));
  ring_->add(center_->widget(0), tr("Charts"));
  ring_->add(routes_, tr("Routes and calls"));
  ring_->add(docks_[1], tr("Explain, block mask and preview"));
  ring_->add(platform_dock_, tr("Platform"));
  ring_->add(docks_[2], tr("Trace log"));
}

bool MainWindow::focusNextPrevChild(bool next) { return ring_->tab(!next) || QMainWindow::focusNextPrevChild(next); }

void MainWindow::start(bool fresh) {
  document_->start(fresh);
  if (settings_ && !settings_->value("start/seen", false).toBool()) {
    settings_->setValue("start/seen", true);
    if (!services_.jobs.running() && services_.workspace.last().isEmpty()) show_examples();
  }
}

void MainWindow::open_file(const QString& path) { opener_->open(path); }

void MainWindow::show_examples() { pages_->setCurrentIndex(1); }

void MainWindow::hide_examples() {
  if (pages_->currentIndex() == 0) return;
  const bool held = pages_->currentWidget()->isAncestorOf(focusWidget());
  pages_->setCurrentIndex(0);
  if (held) routes_->view()->setFocus(Qt::OtherFocusReason);
}

void MainWindow::open_example(const QString& id) {
  const Expected<void> done = example_->run(id);
  if (!done) notice_->say(tr("The example was not opened: %1.").arg(text_of(done.error())), "bad");
}

void MainWindow::show_example(Example::Show show) {
  switch (show) {
    case Example::Show::picture:
      show_preview();
      break;
    case Example::Show::fallback:
      route_dock_->show();
      route_tabs_->setCurrentIndex(0);
      charts_->setCurrentIndex(0);
      break;
    case Example::Show::budget:
      show_sweep();
      sweep_->run();
      break;
  }
}

}  // namespace attn::ui
