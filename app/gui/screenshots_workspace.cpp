// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/screenshots_workspace.h"

#include "app/gui/wait_for.h"
#include "app/gui/workbench.h"
#include "ui/commands/command_palette.h"
#include "ui/commands/key_sheet.h"
#include "ui/main_window/main_window.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"

#include <QApplication>
#include <QDir>
#include <QLineEdit>
#include <QSettings>
#include <QTemporaryDir>
#include <cstdio>
#include <functional>

namespace attn::app {

namespace {

/// A window that keeps its workspace in a folder.
class Opened {
 public:
  Opened(const QString& state, ui::Theme& theme) {
    auto opened = Workbench::open();
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().c_str());
      return;
    }
    bench_ = std::move(*opened);
    window_ = std::make_unique<ui::MainWindow>(bench_->services(), theme);
    window_->arrange({1680, 1050});
    const auto session = bench_->workspace().begin_session(state.toStdU16String());
    if (!session) std::fprintf(stderr, "%s\n", session.error().c_str());
    window_->start(true);
    window_->show();
  }
  [[nodiscard]] bool is_there() const { return window_ != nullptr; }
  [[nodiscard]] ui::MainWindow& window() { return *window_; }
  [[nodiscard]] Workbench& bench() { return *bench_; }

 private:
  std::unique_ptr<Workbench> bench_;
  std::unique_ptr<ui::MainWindow> window_;
};

}  // namespace

bool take_workspace_screenshots(const QString& folder, const QString& suffix, ui::Theme& theme) {
  const auto take = [&](QWidget& widget, const char* name) {
    settle();
    const QString path = QDir(folder).filePath(name + suffix);
    if (!widget.grab().save(path)) {
      std::fprintf(stderr, "cannot write %s\n", qPrintable(path));
      return false;
    }
    std::printf("%s\n", qPrintable(path));
    return true;
  };
  QTemporaryDir state;
  {
    // A window that dies in the middle of a run.
    Opened dying(state.path(), theme);
    if (!dying.is_there()) return false;
    ui::MainWindow& window = dying.window();
    window.show_examples();
    if (!take(window, "examples")) return false;
    window.arrange({1280, 720});
    if (!take(window, "examples-1280x720")) return false;
    window.arrange({1680, 1050});
    window.document().save_as(QDir(state.path()).filePath("flux-tuning.attnscope"));
    if (!wait_for([&] { return !window.document().path().isEmpty(); })) return false;
    window.workload().choose_work(ui::Work::all);
    window.workload().run();
    if (!wait_for([&] { return window.state().run() && window.state().run()->calls_done > 20; })) return false;
    (void)dying.bench().engine().set("sparse_attention_budget", std::int64_t{45});
    window.document().autosave_now();
  }
  Opened next(state.path(), theme);
  if (!next.is_there()) return false;
  ui::MainWindow& window = next.window();
  if (!take(window, "recovery")) return false;
  auto* notice = window.findChild<ui::NoticeBanner*>("notice_banner");
  window.arrange({1280, 720});
  emit notice->shown();
  if (!take(window, "recovery-1280x720")) return false;
  window.arrange({1680, 1050});
  notice->hide();
  if (!window.commands().run("example.flux")) return false;
  if (!wait_for([&] { return window.selection().role() == Role::vae; })) return false;
  if (!take(window, "example-flux")) return false;
  window.palette().open();
  if (!take(window, "palette")) return false;
  auto* line = window.findChild<QLineEdit*>("command_line");
  line->setText("sto");
  emit line->textEdited("sto");
  if (!take(window, "palette-found")) return false;
  window.arrange({1280, 720});
  line->clear();
  emit line->textEdited({});
  if (!take(window, "palette-1280x720")) return false;
  window.palette().close();
  window.arrange({1680, 1050});
  window.show_keys();
  auto* sheet = window.findChild<ui::KeySheet*>("key_sheet");
  if (!take(*sheet, "keys")) return false;
  sheet->close();
  if (!window.commands().run("help.about")) return false;
  return take(*window.findChild<QWidget*>("about_box"), "about");
}

}  // namespace attn::app
