// SPDX-License-Identifier: GPL-3.0-or-later
// Every command of the window, in the order of the menus. Menus, palette, sheet of keys and command line follow.
#include "ui/chain_bar/chain_bar.h"
#include "ui/commands/command_palette.h"
#include "ui/commands/key_sheet.h"
#include "ui/commands/panel_ring.h"
#include "ui/compare/compare_desk.h"
#include "ui/control_panel/control_panel.h"
#include "ui/explain/explain_panel.h"
#include "ui/main_window/about.h"
#include "ui/main_window/main_window.h"
#include "ui/route_table/route_panel.h"
#include "ui/start/examples.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/file_opener.h"
#include "ui/workspace/workspace_document.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenuBar>
#include <QStatusBar>
#include <QTabBar>

namespace attn::ui {

namespace {

QList<QKeySequence> keys(const char* first, const char* second = nullptr) {
  QList<QKeySequence> all{QKeySequence(MainWindow::tr(first))};
  if (second != nullptr) all << QKeySequence(MainWindow::tr(second));
  return all;
}

}  // namespace

void MainWindow::make_commands() {
  add_file_commands();
  add_edit_commands();
  add_run_commands();
  add_view_commands();
  add_layout_commands();
  add_help_commands();
  explain_commands();
  fill_menu_bar(*menuBar(), commands_);
  palette_ = new CommandPalette(commands_, theme_, this);
}

void MainWindow::add_file_commands() {
  const QString menu = tr("&File");
  commands_.begin(menu);
  commands_.add(
      "file.open", tr("&Open…"), keys("Ctrl+O"), [this] { opener_->ask(this); },
      tr("A workspace, settings of any format, a picture with its settings, measured levers, a block mask, recorded "
         "tensors, or the log of a server"));
  commands_.begin(menu, tr("Open &recent"));
  for (int i = 0; i < WorkspaceDocument::kMostRecent; ++i) {
    const QByteArray id = "file.recent." + QByteArray::number(i + 1);
    recent_ << commands_.add(id, {}, {}, [this, i] {
      if (i < document_->recent().size()) opener_->open(document_->recent()[i]);
    });
  }
  commands_.separate();
  QAction* forget =
      commands_.add("file.recent.forget", tr("&Forget these"), {}, [this] { document_->forget_recent(); });
  const auto show = [this, forget] {
    const QStringList& files = document_->recent();
    for (int i = 0; i < recent_.size(); ++i) {
      recent_[i]->setVisible(i < files.size());
      recent_[i]->setEnabled(i < files.size());
      if (i >= files.size()) continue;
      recent_[i]->setText(tr("Open %1").arg(QFileInfo(files[i]).fileName().replace('&', "&&")));
      recent_[i]->setToolTip(files[i]);
    }
    forget->setEnabled(!files.isEmpty());
  };
  connect(document_, &WorkspaceDocument::recent_changed, this, show);
  show();
  commands_.begin(menu);
  commands_.separate();
  commands_.add(
      "file.save", tr("&Save workspace"), keys("Ctrl+S"), [this] { document_->save(); },
      tr("Settings, target, model with its inputs, filter and arrangement, as one file"));
  commands_.add("file.save_as", tr("Save workspace &as…"), keys("Ctrl+Shift+S"), [this] { document_->ask_save_as(); });
  commands_.separate();
  commands_.add(
      "file.import", tr("&Import settings…"), keys("Ctrl+I"), [this] { open_import(); },
      tr("Take settings out of a file of another system, or drop one on the window"));
  commands_.add(
      "file.export", tr("&Export settings…"), keys("Ctrl+E"), [this] { open_export(); },
      tr("The settings as another system reads them: text, or a file"));
  commands_.separate();
  commands_.add("file.quit", tr("&Quit"), {QKeySequence(QKeySequence::Quit)}, [this] { close(); });
}

void MainWindow::add_edit_commands() {
  commands_.begin(tr("&Edit"));
  commands_.adopt(history_.undo_action());
  commands_.call_it(tr("Undo"));
  commands_.adopt(history_.redo_action());
  commands_.call_it(tr("Redo"));
  commands_.separate();
  selection_.serve(this);
  commands_.adopt(selection_.back_action());
  commands_.adopt(selection_.forward_action());
  commands_.separate();
  commands_.add(
      "routes.copy", tr("&Copy rows"), {}, [this] { routes_->copy(); },
      tr("The selected rows of the table, as tab-separated text"));
  commands_.separate();
  commands_.add("options.find", tr("&Find an option"), {QKeySequence(QKeySequence::Find)}, [this] {
    docks_[0]->show();
    control_->focus_search();
  });
  for (QAction* action : routes_->actions_of_panel()) {
    commands_.adopt(action);
    connect(action, &QAction::triggered, this, [this] { hide_examples(); });
  }
  commands_.adopt(explain_->copy_action());
}

void MainWindow::add_run_commands() {
  commands_.begin(tr("&Run"));
  run_ = commands_.add(
      "run.start", tr("&Run"), keys("Ctrl+R"), [this] { workload_->run(); },
      tr("Make every attention call of one generation of this model"));
  stop_ = commands_.add(
      "run.stop", tr("&Stop"), {}, [this] { workload_->stop(); }, tr("Stop the running job between two calls"));
  commands_.say_panel_keys(tr("Esc"));
  commands_.begin(tr("&Chain"));
  commands_.add("chain.rebuild", tr("Re&build"), keys("Ctrl+B"), [this] { services_.engine.rebuild(); });
  QAction* revert =
      commands_.add("chain.revert", tr("Re&vert pending edits"), {}, [this] { services_.engine.revert_pending(); });
  const auto show = [this, revert] { revert->setEnabled(services_.engine.is_pending()); };
  connect(&link_, &EngineLink::settings_changed, revert, show);
  show();
  commands_.adopt(chain_bar_->history_action());
  commands_.begin(tr("&Compare"));
  commands_.adopt(compare_->actions());
  commands_.begin(tr("&Compare"), tr("&Baseline"));
  commands_.adopt(compare_->run_actions());
}

void MainWindow::add_view_commands() {
  const QString menu = tr("&View");
  commands_.begin(menu);
  commands_.add("view.next_panel", tr("&Next panel"), keys("F6"), [this] { ring_->go(false); });
  commands_.add("view.previous_panel", tr("Pre&vious panel"), keys("Shift+F6"), [this] { ring_->go(true); });
  commands_.separate();
  const char* toggles[] = {"view.control_panel", "view.explain", "view.log"};
  for (std::size_t i = 0; i < std::size(toggles); ++i) {
    QAction* toggle = docks_[i]->toggleViewAction();
    toggle->setObjectName(toggles[i]);
    commands_.adopt(toggle);
  }
  commands_.separate();
  const auto chart = [this](int tab) {
    hide_examples();
    charts_->setCurrentIndex(tab);
  };
  commands_.add("view.timeline", tr("&Timeline"), keys("Ctrl+Shift+T"), [this, chart] {
    chart(0);
    timeline_->view().setFocus(Qt::ShortcutFocusReason);
  });
  commands_.add("view.steps", tr("Per &step"), keys("Ctrl+Shift+B"), [chart] { chart(1); });
  commands_.add("view.sweep", tr("Budget s&weep"), keys("Ctrl+Shift+W"), [this] { show_sweep(); });
  commands_.add("view.levers", tr("&Levers"), keys("Ctrl+Shift+E"), [this] { show_levers(); });
  commands_.add("view.routes", tr("&Routes"), keys("Ctrl+Shift+R"), [this] {
    hide_examples();
    routes_->show_calls(false);
  });
  commands_.add("view.calls", tr("&Calls"), keys("Ctrl+Shift+L"), [this] {
    hide_examples();
    routes_->show_calls(true);
  });
  commands_.add("view.block_mask", tr("&Block mask"), keys("Ctrl+M"), [this] { show_block_mask(); });
  commands_.add("view.preview", tr("&Preview"), keys("Ctrl+Shift+V"), [this] { show_preview(); });
  commands_.add("view.platform", tr("Plat&form"), keys("Ctrl+Shift+M"), [this] { show_platform(); });
  commands_.begin(menu, tr("Timel&ine"));
  const auto timeline = [this](const char* id, const QString& text, const QString& key, auto&& work) {
    commands_.add(id, text, {}, [this, work] { work(timeline_->view()); });
    commands_.say_panel_keys(key);
  };
  timeline("timeline.fit", tr("&Fit the whole run"), tr("F"), [](TimelineView& view) { view.fit(); });
  timeline("timeline.zoom_in", tr("Zoom &in"), tr("W"), [](TimelineView& view) { view.zoom(1.5); });
  timeline("timeline.zoom_out", tr("Zoom &out"), tr("S"), [](TimelineView& view) { view.zoom(1.0 / 1.5); });
  timeline("timeline.next_call", tr("&Next call of the lane"), tr("."), [](TimelineView& view) { view.go(1); });
  timeline("timeline.previous_call", tr("&Previous call of the lane"), tr(","),
           [](TimelineView& view) { view.go(-1); });
  timeline("timeline.follow", tr("Follow the &end"), {}, [](TimelineView& view) { view.follow(); });
}

void MainWindow::add_layout_commands() {
  const QString menu = tr("&View");
  commands_.begin(menu, tr("T&heme"));
  themes_ = new QActionGroup(this);
  const std::tuple<const char*, QString, ThemeChoice> choices[] = {
      {"theme.system", tr("As the &system"), ThemeChoice::system},
      {"theme.light", tr("&Light"), ThemeChoice::light},
      {"theme.dark", tr("&Dark"), ThemeChoice::dark}};
  for (const auto& [id, text, choice] : choices) {
    QAction* action = commands_.add(id, text, {}, [this, choice = choice] { theme_.choose(choice); });
    action->setCheckable(true);
    action->setChecked(theme_.choice() == choice);
    action->setData(static_cast<int>(choice));
    themes_->addAction(action);
  }
  commands_.begin(menu, tr("L&ayout"));
  for (int slot = 0; slot < LayoutSlots::kCount; ++slot) {
    const QString number = QString::number(slot + 1);
    const QByteArray id = "layout.slot" + number.toLatin1() + ".load";
    QAction* load = commands_.add(id, tr("Arrange as in slot &%1").arg(number), {QKeySequence("Ctrl+" + number)},
                                  [this, slot] { state_->put_layout(*slots_.at(slot)); });
    const auto show = [this, load, slot] { load->setEnabled(slots_.at(slot).has_value()); };
    connect(&slots_, &LayoutSlots::changed, load, show);
    show();
  }
  commands_.separate();
  for (int slot = 0; slot < LayoutSlots::kCount; ++slot) {
    const QString number = QString::number(slot + 1);
    const QByteArray id = "layout.slot" + number.toLatin1() + ".save";
    commands_.add(id, tr("Keep the arrangement in slot %1").arg(number), {QKeySequence("Ctrl+Shift+" + number)},
                  [this, slot] {
                    slots_.keep(slot, state_->layout());
                    statusBar()->showMessage(tr("Kept in slot %1").arg(slot + 1), 3000);
                  });
  }
  commands_.begin(menu);
  commands_.separate();
  commands_.add(
      "layout.reset", tr("Reset &layout"), {}, [this] { reset_layout(); },
      tr("The panels where they were at the first start; settings and view stay"));
  commands_.add(
      "view.reset", tr("Reset vie&w"), {}, [this] { state_->reset_view(); },
      tr("Zoom, filter, columns, order and grouping as at the first start; settings and panels stay"));
  commands_.add(
      "options.reset", tr("Reset &options"), {}, [this] { state_->reset_options(); },
      tr("Every setting to its default; Undo brings them back"));
}

void MainWindow::add_help_commands() {
  const QString menu = tr("&Help");
  commands_.begin(menu);
  commands_.add(
      "help.palette", tr("&Command palette"), keys("Ctrl+Shift+P"), [this] { palette_->open(); },
      tr("Finds every command by a few of its letters"));
  commands_.add("help.keys", tr("&Keys"), keys("?", "F1"), [this] { show_keys(); });
  commands_.separate();
  commands_.add("help.examples", tr("&Examples"), {}, [this] { show_examples(); });
  commands_.begin(menu, tr("Open an e&xample"));
  for (const Example& example : examples()) {
    commands_.add(
        example.id, QCoreApplication::translate("Examples", example.title), {},
        [this, id = QString(example.id)] { open_example(id); }, QCoreApplication::translate("Examples", example.what));
  }
  commands_.begin(menu);
  commands_.separate();
  commands_.add("help.about", tr("&About Attnscope"), {}, [this] { show_about(this); });
}

void MainWindow::show_keys() {
  if (auto* open = findChild<KeySheet*>("key_sheet")) {
    open->raise();
    open->activateWindow();
    return;
  }
  (new KeySheet(commands_, theme_, this))->show();
}

}  // namespace attn::ui
