// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/window_commands.h"

#include "app/jobs/nearest.h"
#include "ui/format/format.h"
#include "ui/main_window/main_window.h"
#include "ui/workspace/workspace_document.h"

#include <QTimer>
#include <algorithm>
#include <cstdio>

namespace attn::app {

namespace {

/// A file that cannot be opened must not hold up what was asked for.
constexpr int kPatience = 5000;

void run_first(ui::MainWindow& window, QStringList ids) {
  if (ids.isEmpty()) return;
  const QString id = ids.takeFirst();
  const ui::Command* command = window.commands().find(id);
  if (command != nullptr && !window.commands().run(id)) {
    const QString reason = command->reason();
    std::fprintf(stderr, "attnscope: %s cannot be started now%s\n", qPrintable(id),
                 reason.isEmpty() ? "" : qPrintable(": " + reason));
  }
  QTimer::singleShot(0, &window, [&window, ids] { run_first(window, ids); });
}

}  // namespace

std::string unknown_command(const ui::CommandRegistry& commands, const QStringList& ids) {
  std::vector<std::string> known;
  for (const QString& id : commands.ids()) known.push_back(ui::utf8_of(id));
  for (const QString& id : ids) {
    if (commands.find(id) != nullptr) continue;
    const std::string name = ui::utf8_of(id);
    return "there is no command \"" + quotable(name) + "\"" +
           nearest_hint(name, known, "; attnscope --list-commands lists them");
  }
  return {};
}

void run_commands(ui::MainWindow& window, const QStringList& ids, bool after_opening) {
  if (ids.isEmpty()) return;
  const auto begin = [&window, ids] { run_first(window, ids); };
  if (!after_opening) {
    QTimer::singleShot(0, &window, begin);
    return;
  }
  auto* once = new QTimer(&window);
  once->setSingleShot(true);
  QObject::connect(once, &QTimer::timeout, once, [once, begin] {
    once->deleteLater();
    begin();
  });
  QObject::connect(&window.document(), &ui::WorkspaceDocument::restored, once, [once] { once->start(0); });
  once->start(kPatience);
}

QString command_table(const ui::CommandRegistry& commands) {
  qsizetype ids = 0;
  qsizetype keys = 0;
  for (const ui::Command& command : commands.all()) {
    ids = std::max(ids, command.id().size());
    keys = std::max(keys, command.keys().size());
  }
  QString out;
  for (const ui::Command& command : commands.all()) {
    if (command.text().isEmpty()) continue;  // a recent file that there is not
    const QString line = command.id().leftJustified(ids + 2) + command.keys().leftJustified(keys + 2) +
                         command.section() + ": " + command.text();
    out += line + '\n';
  }
  return out;
}

}  // namespace attn::app
