// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/recording.h"

#include "app/gui/wait_for.h"
#include "app/gui/workbench.h"
#include "ui/commands/command_registry.h"
#include "ui/main_window/main_window.h"
#include "ui/preview/preview_service.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QApplication>
#include <QDir>
#include <QKeyEvent>
#include <QLineEdit>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <cstdio>
#include <functional>

namespace attn::app {

namespace {

class Camera {
 public:
  Camera(Workbench& bench, ui::MainWindow& window, QString folder)
      : bench_(bench), window_(window), folder_(std::move(folder)) {}

  /// What the window shows now, for so many hundredths of a second.
  bool shoot(int hundredths) {
    settle();
    const QString name =
        QStringLiteral("%1-%2.png").arg(++count_, 4, 10, QChar('0')).arg(hundredths, 3, 10, QChar('0'));
    if (window_.grab().save(QDir(folder_).filePath(name))) return true;
    std::fprintf(stderr, "cannot write %s\n", qPrintable(QDir(folder_).filePath(name)));
    return false;
  }

  bool start(const char* command) {
    if (window_.commands().run(command)) return true;
    std::fprintf(stderr, "%s cannot be started\n", command);
    return false;
  }

  /// A frame for every key.
  bool type(QWidget* into, const QString& text) {
    for (const QChar letter : text) {
      QKeyEvent press(QEvent::KeyPress, 0, Qt::NoModifier, letter);
      QApplication::sendEvent(into, &press);
      if (!shoot(7)) return false;
    }
    return true;
  }

  /// The bundled model draws, a frame for every step.
  bool picture() {
    if (!start("help.examples") || !shoot(200) || !start("example.shapes")) return false;
    int step = -1;
    while (wait_for([&] { return !bench_.jobs().running() || bench_.services().pictures.frame().step != step; })) {
      if (!bench_.jobs().running()) return shoot(200);
      step = bench_.services().pictures.frame().step;
      if (!shoot(9)) return false;
    }
    return false;
  }

  /// A call that fell back: found by the filter, and explained.
  bool fallback() {
    const std::uint64_t before = bench_.services().trace.snapshot().revision;
    if (!start("example.flux")) return false;
    const auto planned = [&] {
      return !bench_.jobs().running() && bench_.services().trace.snapshot().revision != before &&
             window_.selection().route() && window_.routes().view()->model()->rowCount() == 3;
    };
    if (!wait_for(planned) || !shoot(200) || !start("filter.focus")) return false;
    if (!type(&window_.routes().filter().field(), "role:transformer")) return false;
    if (!wait_for([&] { return window_.routes().view()->model()->rowCount() == 1; })) return false;
    window_.routes().view()->selectRow(0);
    return shoot(200);
  }

  /// Any command by a few of its letters.
  bool palette() {
    if (!start("help.palette")) return false;
    auto* line = window_.findChild<QLineEdit*>("command_line");
    if (line == nullptr || !shoot(60) || !type(line, "levers")) return false;
    QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
    QApplication::sendEvent(line, &enter);
    return shoot(200);
  }

 private:
  Workbench& bench_;
  ui::MainWindow& window_;
  QString folder_;
  int count_ = 0;
};

}  // namespace

int record(const QString& folder, const QString& theme_name) {
  if (!QDir().mkpath(folder)) {
    std::fprintf(stderr, "attnscope: cannot make the folder %s\n", qPrintable(folder));
    return 1;
  }
  ui::Theme theme;
  theme.choose(theme_name == "light" ? ui::ThemeChoice::light : ui::ThemeChoice::dark);
  auto bench = Workbench::open();
  if (!bench) {
    std::fprintf(stderr, "attnscope: %s\n", bench.error().c_str());
    return 1;
  }
  const QTemporaryDir state;
  ui::MainWindow window((*bench)->services(), theme);
  window.arrange({1280, 800});
  const auto session = (*bench)->workspace().begin_session(state.path().toStdU16String());
  if (!session) std::fprintf(stderr, "attnscope: %s\n", session.error().c_str());
  window.start(true);
  window.show();
  Camera camera(**bench, window, folder);
  return camera.picture() && camera.fallback() && camera.palette() ? 0 : 1;
}

}  // namespace attn::app
