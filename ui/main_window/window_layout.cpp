// SPDX-License-Identifier: GPL-3.0-or-later
// Where the panels are: the default arrangement, bringing one to the front, and what is kept between starts.
#include "ui/commands/command_palette.h"
#include "ui/control_panel/control_panel.h"
#include "ui/export/export_dialog.h"
#include "ui/main_window/main_window.h"
#include "ui/route_table/route_panel.h"
#include "ui/stored/stored_banner.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QLayout>
#include <QScreen>
#include <QSettings>
#include <QSplitter>
#include <QTabBar>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kSmall = 800;  ///< pixels of a window that has no room for what is only said

}  // namespace

void MainWindow::reset_layout() {
  const QSize room = screen()->availableSize();
  arrange(QSize(1680, 1050).boundedTo(room * 0.94));
}

void MainWindow::arrange(QSize size) {
  for (QDockWidget* dock : docks_) {
    dock->setFloating(false);
    dock->show();
  }
  addDockWidget(Qt::LeftDockWidgetArea, docks_[0]);
  addDockWidget(Qt::RightDockWidgetArea, docks_[1]);
  addDockWidget(Qt::BottomDockWidgetArea, docks_[2]);
  platform_dock_->setFloating(false);
  platform_dock_->hide();
  layout()->activate();  // what was just hidden asks for no height any more
  resize(size);
  // A fifth of the width each, within what their contents need and what they can use.
  const int beyond = std::max(0, size.width() - 1920);
  const int left = std::clamp(size.width() / 5, 308, 318 + beyond / 20);
  const int right = std::clamp(size.width() * 9 / 40, 336, 356 + beyond / 10);
  resizeDocks({docks_[0], docks_[1]}, {left, right}, Qt::Horizontal);
  resizeDocks({docks_[2]}, {std::clamp(size.height() / 7, size.height() < kSmall ? 76 : 104, 160)}, Qt::Vertical);
  // Parts of what the window leaves: bars need less than tables, and in a small window three lanes need half.
  const bool bars = charts_->currentIndex() < kSweepTab;
  const bool small = size.height() < 900;
  const int lists = bars ? (small ? 340 : 600) : (small ? 200 : 400);
  center_->setSizes({300, lists});
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  workload_->set_compact(height() < kSmall);
  QMainWindow::resizeEvent(event);
}

void MainWindow::show_block_mask() {
  route_dock_->show();
  route_dock_->raise();
  route_tabs_->setCurrentIndex(1);
}

void MainWindow::show_preview() {
  route_dock_->show();
  route_dock_->raise();
  route_tabs_->setCurrentIndex(2);
}

void MainWindow::show_levers() { show_chart(kLeversTab); }

void MainWindow::show_compare() { show_chart(kCompareTab); }

void MainWindow::show_stored(const StoredReport& report) { stored_->show_report(report); }

void MainWindow::show_platform() {
  if (platform_dock_->isHidden()) platform_dock_->setFloating(false);
  tabifyDockWidget(route_dock_, platform_dock_);
  platform_dock_->show();
  platform_dock_->raise();
}

void MainWindow::show_sweep() { show_chart(kSweepTab); }

void MainWindow::show_chart(int tab) {
  hide_examples();
  charts_->setCurrentIndex(tab);
}

void MainWindow::give_sweep_room() {
  // Curves with a table beside them cannot be read in the height that suffices for bars.
  const int readable = charts_->currentIndex() == kSweepTab ? 250 : 420;
  const QList<int> sizes = center_->sizes();
  const int whole = sizes[0] + sizes[1];
  if (sizes[0] >= readable || whole == 0) return;
  const int top = std::min(readable, whole * 2 / 3);
  center_->setSizes({top, whole - top});
}

void MainWindow::give_lists_room() {
  // A sentence above takes its room from both, and a list without rows for it says nothing any more.
  constexpr int kReadable = 170;
  const QList<int> sizes = center_->sizes();
  const int whole = sizes[0] + sizes[1];
  if (sizes[1] >= kReadable || whole == 0) return;
  const int bottom = std::min(kReadable, whole / 2);
  center_->setSizes({whole - bottom, bottom});
}

void MainWindow::save() {
  if (!settings_) return;
  settings_->setValue("window/geometry", saveGeometry());
  settings_->setValue("window/docks", saveState(WindowState::kLayoutVersion));
  settings_->setValue("window/center", center_->saveState());
  settings_->setValue("window/theme", static_cast<int>(theme_.choice()));
  if (export_ != nullptr) export_->save(*settings_);
  control_->save(*settings_);
  workload_->save(*settings_);
  routes_->save(*settings_);
  palette_->save(*settings_);
  slots_.save(*settings_);
}

void MainWindow::restore() {
  if (!settings_) return;
  palette_->restore(*settings_);
  slots_.restore(*settings_);
  if (!settings_->contains("window/geometry")) return;
  restoreGeometry(settings_->value("window/geometry").toByteArray());
  restoreState(settings_->value("window/docks").toByteArray(), WindowState::kLayoutVersion);
  center_->restoreState(settings_->value("window/center").toByteArray());
  theme_.choose(static_cast<ThemeChoice>(settings_->value("window/theme", 0).toInt()));
  for (QAction* action : themes_->actions())
    action->setChecked(action->data().toInt() == static_cast<int>(theme_.choice()));
  control_->restore(*settings_);
  workload_->restore(*settings_);
  routes_->restore(*settings_);
}

}  // namespace attn::ui
