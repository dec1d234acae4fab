// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/command_registry.h"

#include <QMenu>
#include <QMenuBar>
#include <algorithm>
#include <map>

namespace attn::ui {

QString without_mnemonic(QString text) {
  text.replace(QStringLiteral("&&"), QStringLiteral("\x01"));
  text.remove('&');
  text.replace('\x01', '&');
  return text;
}

QString Command::text() const { return without_mnemonic(action->text()); }

QString Command::section() const { return without_mnemonic(submenu.isEmpty() ? menu : submenu); }

QString Command::keys() const {
  QStringList keys;
  for (const QKeySequence& sequence : action->shortcuts()) keys << sequence.toString(QKeySequence::NativeText);
  if (!panel_keys.isEmpty()) keys << panel_keys;
  return keys.join(CommandRegistry::tr(" or "));
}

QString Command::reason() const { return action->isEnabled() || !why_not ? QString() : why_not(); }

void CommandRegistry::begin(const QString& menu, const QString& submenu) {
  menu_ = menu;
  submenu_ = submenu;
  separated_ = false;
}

QAction* CommandRegistry::add(const char* id, const QString& text, const QList<QKeySequence>& keys,
                              std::function<void()> work, const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(id);
  action->setShortcuts(keys);
  if (!tip.isEmpty()) action->setToolTip(tip);
  connect(action, &QAction::triggered, this, std::move(work));
  adopt(action);
  return action;
}

void CommandRegistry::adopt(QAction* action) {
  Q_ASSERT(!action->objectName().isEmpty() && find(action->objectName()) == nullptr);
  commands_.push_back({action, menu_, submenu_, separated_, {}, {}});
  separated_ = false;
  connect(action, &QAction::triggered, this, [this, action] { emit ran(action->objectName()); });
}

void CommandRegistry::adopt(const QList<QAction*>& actions) {
  for (QAction* action : actions) adopt(action);
}

void CommandRegistry::explain(const QString& id, std::function<QString()> why_not) {
  const auto at = std::find_if(commands_.begin(), commands_.end(), [&](const Command& one) { return one.id() == id; });
  Q_ASSERT(at != commands_.end());
  at->why_not = std::move(why_not);
}

const Command* CommandRegistry::find(const QString& id) const {
  const auto at = std::find_if(commands_.begin(), commands_.end(), [&](const Command& one) { return one.id() == id; });
  return at == commands_.end() ? nullptr : &*at;
}

QStringList CommandRegistry::ids() const {
  QStringList ids;
  for (const Command& command : commands_) ids << command.id();
  return ids;
}

bool CommandRegistry::run(const QString& id) {
  const Command* command = find(id);
  if (command == nullptr || !command->action->isEnabled()) return false;
  command->action->trigger();
  return true;
}

void fill_menu_bar(QMenuBar& bar, const CommandRegistry& commands) {
  std::map<QString, QMenu*> menus;
  std::map<std::pair<QString, QString>, QMenu*> submenus;
  for (const Command& command : commands.all()) {
    QMenu*& menu = menus[command.menu];
    if (menu == nullptr) menu = bar.addMenu(command.menu);
    if (command.submenu.isEmpty()) {
      if (command.separated) menu->addSeparator();
      menu->addAction(command.action);
      continue;
    }
    QMenu*& submenu = submenus[{command.menu, command.submenu}];
    if (submenu == nullptr) {
      submenu = menu->addMenu(command.submenu);
      submenu->setToolTipsVisible(true);
    }
    if (command.separated && !submenu->isEmpty()) submenu->addSeparator();
    submenu->addAction(command.action);
  }
}

}  // namespace attn::ui
