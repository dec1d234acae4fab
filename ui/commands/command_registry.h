// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

class QMenuBar;

namespace attn::ui {

/// One thing that a person can start. Its id is the action's object name and stays: command lines name it.
struct Command {
  QAction* action = nullptr;
  QString menu;                      ///< "&File"
  QString submenu;                   ///< "Open &recent"; empty: in the menu itself
  bool separated = false;            ///< a line stands before it
  QString panel_keys;                ///< keys that its panel takes while it has the focus: "F"
  std::function<QString()> why_not;  ///< a sentence while it cannot be started; may be empty
  QString name{};                    ///< what it is called whatever it would do now; empty: as text()

  [[nodiscard]] QString id() const { return action->objectName(); }
  /// As it reads in a line, without the mark of a menu's letter: "Rebuild".
  [[nodiscard]] QString text() const;
  /// The name of the menu that it stands in, without that mark: "Chain", "Theme".
  [[nodiscard]] QString section() const;
  /// "Ctrl+Shift+Z or Ctrl+Y"; empty: none.
  [[nodiscard]] QString keys() const;
  /// Why it cannot be started now; empty when it can, or when nobody knows.
  [[nodiscard]] QString reason() const;
};

/// A menu's text without the mark of its letter and without an ellipsis.
[[nodiscard]] QString without_mnemonic(QString text);

/// The one list of everything that the window can do. Menus, the command palette, the sheet of keys and the command
/// line are made from it, in its order. GUI thread.
class CommandRegistry final : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// What is added from here on belongs to this menu.
  void begin(const QString& menu, const QString& submenu = {});
  /// The next one has a line before it.
  void separate() { separated_ = true; }
  /// A command of the window itself. The action belongs to the registry.
  QAction* add(const char* id, const QString& text, const QList<QKeySequence>& keys, std::function<void()> work,
               const QString& tip = {});
  /// A command that a panel owns; its object name is its id.
  void adopt(QAction* action);
  void adopt(const QList<QAction*>& actions);
  /// What to say while a command that was added is disabled.
  void explain(const QString& id, std::function<QString()> why_not);
  /// What the command last added is called whatever it would do now: "Undo".
  void call_it(const QString& name) { commands_.back().name = name; }
  /// Keys that a panel takes by itself, for the command last added.
  void say_panel_keys(const QString& keys) { commands_.back().panel_keys = keys; }

  [[nodiscard]] const std::vector<Command>& all() const noexcept { return commands_; }
  /// Null: there is none of this id.
  [[nodiscard]] const Command* find(const QString& id) const;
  [[nodiscard]] QStringList ids() const;
  /// Starts it. False: there is none, or it is disabled.
  bool run(const QString& id);

 signals:
  /// A command was started, from wherever.
  void ran(const QString& id);

 private:
  QString menu_;
  QString submenu_;
  bool separated_ = false;
  std::vector<Command> commands_;
};

/// A menu for each section, in the order in which they first appear; lists of recent things follow their actions.
void fill_menu_bar(QMenuBar& bar, const CommandRegistry& commands);

}  // namespace attn::ui
