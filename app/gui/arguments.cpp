// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/arguments.h"

namespace attn::app {

QString usage() {
  return QStringLiteral(
      "attnscope [FILE] [--fresh] [--settings FILE] [--theme light|dark] [--run-command ID]...\n"
      "    Opens the window as it was closed, or with --fresh as at the first start.\n"
      "    FILE         a workspace, settings of any format, a picture with its settings, or the log of a server\n"
      "    --settings   takes the settings of a config.json, a profile or another format. The file is only read;\n"
      "                 defaults stand in for values that do not hold, and the window says so\n"
      "    --run-command   starts commands of the window, one after the other, once it is shown\n"
      "attnscope --list-commands\n"
      "    The ids of all commands, with their texts and keys.\n"
      "attnscope --screenshots DIR [--theme light|dark] [--scale N]\n"
      "    Runs the main job in a window without a display and writes PNGs of it to DIR:\n"
      "    both themes at scales 1 and 2 unless one is named.\n"
      "attnscope --record DIR [--theme light|dark]\n"
      "    The same for the frames of a short story; ./dev recording makes one moving picture of them.\n"
      "attnscope --help | --version\n"
      "The same without a window: attnctl --help\n");
}

std::optional<Arguments> parse_arguments(const QStringList& words, QString& error) {
  Arguments arguments;
  for (qsizetype i = 0; i < words.size(); ++i) {
    const QString& word = words[i];
    if (word == "--help" || word == "-h") {
      arguments.help = true;
      continue;
    }
    if (word == "--version") {
      arguments.version = true;
      continue;
    }
    if (word == "--fresh") {
      arguments.fresh = true;
      continue;
    }
    if (word == "--list-commands") {
      arguments.list_commands = true;
      continue;
    }
    if (!word.startsWith('-')) {
      if (!arguments.file.isEmpty()) {
        error = QStringLiteral("%1 is one file too many; %2 is to be opened already").arg(word, arguments.file);
        return std::nullopt;
      }
      arguments.file = word;
      continue;
    }
    if (word != "--run-command" && word != "--settings" && word != "--screenshots" && word != "--record" &&
        word != "--theme" && word != "--scale") {
      error = QStringLiteral("unknown argument %1; attnscope --help lists them").arg(word);
      return std::nullopt;
    }
    if (i + 1 >= words.size()) {
      error = QStringLiteral("%1 needs a value").arg(word);
      return std::nullopt;
    }
    const QString& value = words[++i];
    if (word == "--run-command") {
      arguments.commands << value;
    } else if (word == "--settings") {
      arguments.settings = value;
    } else if (word == "--screenshots") {
      arguments.screenshots = value;
    } else if (word == "--record") {
      arguments.recording = value;
    } else if (word == "--theme") {
      if (value != "light" && value != "dark") {
        error = QStringLiteral("--theme is %1; it must be light or dark").arg(value);
        return std::nullopt;
      }
      arguments.theme = value;
    } else {
      bool whole = false;
      arguments.scale = value.toInt(&whole);
      if (!whole || *arguments.scale < 1 || *arguments.scale > 4) {
        error = QStringLiteral("--scale is %1; it must be a whole number from 1 to 4").arg(value);
        return std::nullopt;
      }
    }
  }
  return arguments;
}

}  // namespace attn::app
