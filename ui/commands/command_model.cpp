// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/command_model.h"

#include "ui/commands/fuzzy.h"

#include <algorithm>

namespace attn::ui {

namespace {

/// "Chain: Rebuild": the menu is part of what is found by typing.
QString title_of(const Command& command) { return command.section() + QStringLiteral(": ") + command.text(); }

QString spoken(const Command& command) {
  QStringList parts{title_of(command)};
  if (const QString keys = command.keys(); !keys.isEmpty()) parts << keys;
  if (!command.action->isEnabled()) parts << CommandModel::tr("not available");
  if (const QString reason = command.reason(); !reason.isEmpty()) parts << reason;
  return parts.join(QStringLiteral(", "));
}

}  // namespace

CommandModel::CommandModel(const CommandRegistry& commands, QObject* parent)
    : QAbstractListModel(parent), commands_(commands) {}

void CommandModel::set_pattern(const QString& pattern, const QStringList& recent) {
  beginResetModel();
  rows_.clear();
  int rank = static_cast<int>(recent.size());
  for (const Command& command : commands_.all()) {
    ++rank;
    if (!command.action->isVisible()) continue;
    const QString title = title_of(command);
    auto match = fuzzy_match(pattern, title);
    if (!match) continue;
    const qsizetype used = recent.indexOf(command.id());
    rows_.push_back({&command, std::move(match->places), match->score, used >= 0 ? static_cast<int>(used) : rank});
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.score != b.score ? a.score > b.score : a.rank < b.rank; });
  endResetModel();
}

int CommandModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant CommandModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return title_of(*row.command);
    case Qt::ToolTipRole:
      return row.command->action->toolTip();
    case Qt::AccessibleTextRole:
      return spoken(*row.command);
    case section_role:
      return row.command->section();
    case keys_role:
      return row.command->keys();
    case reason_role:
      return row.command->reason();
    case id_role:
      return row.command->id();
    // Not by the item's flags: a view lets nobody look at a disabled one, and its reason is worth reading.
    case enabled_role:
      return row.command->action->isEnabled();
    case places_role: {
      QVariantList places;
      for (const int place : row.places) places << place;
      return places;
    }
    default:
      return {};
  }
}

}  // namespace attn::ui
