// SPDX-License-Identifier: GPL-3.0-or-later
// attnscope: the window. Looks at the command line before it makes an application, because the scale and the platform
// have to be known by then.
#include "app/gui/arguments.h"
#include "app/gui/recording.h"
#include "app/gui/screenshots.h"
#include "app/gui/stored_settings.h"
#include "app/gui/window_commands.h"
#include "app/gui/workbench.h"
#include "ui/main_window/main_window.h"

#include <QApplication>
#include <QCoreApplication>
#include <QFileInfo>
#include <QMessageBox>
#include <QProcess>
#include <QSettings>
#include <cstdio>

namespace {

using attn::app::Arguments;

/// A scale is fixed for the life of a process, so every picture set has a process of its own.
int screenshots_of_all(int argc, char** argv, const Arguments& arguments) {
  const QCoreApplication application(argc, argv);
  const QStringList themes = arguments.theme ? QStringList{*arguments.theme} : QStringList{"dark", "light"};
  const QList<int> scales = arguments.scale ? QList<int>{*arguments.scale} : QList<int>{1, 2};
  for (const QString& theme : themes) {
    for (const int scale : scales) {
      const int status = QProcess::execute(
          QCoreApplication::applicationFilePath(),
          {"--screenshots", arguments.screenshots, "--theme", theme, "--scale", QString::number(scale)});
      if (status != 0) return status < 0 ? 1 : status;
    }
  }
  return 0;
}

int screenshots(int argc, char** argv, const Arguments& arguments) {
  if (!arguments.theme || !arguments.scale) return screenshots_of_all(argc, argv, arguments);
  qputenv("QT_SCALE_FACTOR", QByteArray::number(*arguments.scale));
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  return attn::app::take_screenshots(arguments.screenshots, *arguments.theme, *arguments.scale);
}

int window(int argc, char** argv, const Arguments& arguments) {
  const QApplication application(argc, argv);
  attn::ui::Theme theme;
  auto bench = attn::app::Workbench::open();
  if (!bench) {
    std::fprintf(stderr, "attnscope: %s\n", bench.error().c_str());
    QMessageBox::critical(nullptr, "Attnscope", QString::fromStdString(bench.error()));
    return 1;
  }
  attn::ui::MainWindow main_window((*bench)->services(), theme, std::make_unique<QSettings>());
  if (arguments.theme) {
    theme.choose(*arguments.theme == "dark" ? attn::ui::ThemeChoice::dark : attn::ui::ThemeChoice::light);
  }
  if (const std::string wrong = attn::app::unknown_command(main_window.commands(), arguments.commands);
      !wrong.empty()) {
    std::fprintf(stderr, "attnscope: %s\n", wrong.c_str());
    return 2;
  }
  const auto session = (*bench)->workspace().begin_session(attn::app::own_state_folder());
  if (!session) std::fprintf(stderr, "attnscope: %s\n", session.error().c_str());
  main_window.start(arguments.fresh);
  main_window.show();
  if (!arguments.settings.isEmpty()) {
    main_window.show_stored(attn::app::open_stored_settings((*bench)->engine(), arguments.settings));
  }
  if (!arguments.file.isEmpty()) main_window.open_file(QFileInfo(arguments.file).absoluteFilePath());
  attn::app::run_commands(main_window, arguments.commands, !arguments.file.isEmpty());
  return QApplication::exec();
}

int recording(int argc, char** argv, const Arguments& arguments) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  return attn::app::record(arguments.recording, arguments.theme.value_or("dark"));
}

int list_commands(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  attn::ui::Theme theme;
  auto bench = attn::app::Workbench::open();
  if (!bench) {
    std::fprintf(stderr, "attnscope: %s\n", bench.error().c_str());
    return 1;
  }
  attn::ui::MainWindow main_window((*bench)->services(), theme);
  std::printf("%s", qPrintable(attn::app::command_table(main_window.commands())));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  QCoreApplication::setOrganizationName("Attnscope");
  QCoreApplication::setApplicationName("attnscope");
  QCoreApplication::setApplicationVersion("0.1.0");
  QString error;
  QStringList words;
  for (int i = 1; i < argc; ++i) words << QString::fromLocal8Bit(argv[i]);
  const auto arguments = attn::app::parse_arguments(words, error);
  if (!arguments) {
    std::fprintf(stderr, "attnscope: %s\n", qPrintable(error));
    return 2;
  }
  if (arguments->help || arguments->version) {
    std::printf("%s", arguments->help ? qPrintable(attn::app::usage()) : "attnscope 0.1.0\n");
    return 0;
  }
  if (!arguments->recording.isEmpty()) return recording(argc, argv, *arguments);
  if (arguments->list_commands) return list_commands(argc, argv);
  return arguments->screenshots.isEmpty() ? window(argc, argv, *arguments) : screenshots(argc, argv, *arguments);
}
