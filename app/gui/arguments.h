// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

namespace attn::app {

/// What attnscope was started with.
struct Arguments {
  QString settings;              ///< file of any format to take the settings from
  QString screenshots;           ///< folder to write PNGs to instead of opening a window
  QString recording;             ///< folder to write the frames of a short story to
  std::optional<QString> theme;  ///< "light" or "dark"
  std::optional<int> scale;      ///< 1 to 4
  QString file;                  ///< to open
  QStringList commands;          ///< ids of commands to start once the window is shown
  bool list_commands = false;
  bool fresh = false;  ///< the workspace of last time stays where it is
  bool help = false;
  bool version = false;
};

/// Reads the command line without the program's name. `error` gets a sentence when something is wrong.
[[nodiscard]] std::optional<Arguments> parse_arguments(const QStringList& words, QString& error);
[[nodiscard]] QString usage();

}  // namespace attn::app
