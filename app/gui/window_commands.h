// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <string>

namespace attn::ui {
class CommandRegistry;
class MainWindow;
}  // namespace attn::ui

namespace attn::app {

/// What is wrong with a list of ids: a sentence with the names that are near. Empty: all are known.
[[nodiscard]] std::string unknown_command(const ui::CommandRegistry& commands, const QStringList& ids);

/// Starts them from the event loop, one after the other; `after_opening` once a file that is being opened is there. One
/// that cannot be started now is said on stderr with the reason, and the next one follows.
void run_commands(ui::MainWindow& window, const QStringList& ids, bool after_opening);

/// Every command, a line each: id, keys, text.
[[nodiscard]] QString command_table(const ui::CommandRegistry& commands);

}  // namespace attn::app
