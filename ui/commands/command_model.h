// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/commands/command_registry.h"

#include <QAbstractListModel>
#include <QStringList>
#include <vector>

namespace attn::ui {

/// The commands that fit what is typed, the best first; without letters those used last, then all in the menus' order.
class CommandModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role {
    section_role = Qt::UserRole + 1,  ///< "Chain"
    keys_role,                        ///< "Ctrl+B"
    reason_role,                      ///< why it cannot be started
    places_role,                      ///< QVariantList: letters of the display text that fit
    id_role,
    enabled_role,  ///< it can be started now
  };

  explicit CommandModel(const CommandRegistry& commands, QObject* parent = nullptr);

  /// `recent` are ids, the newest first. Looks at every command anew.
  void set_pattern(const QString& pattern, const QStringList& recent);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    const Command* command;
    std::vector<int> places;
    int score;
    int rank;  ///< among the recent ones; behind them the menus' order
  };
  const CommandRegistry& commands_;
  std::vector<Row> rows_;
};

}  // namespace attn::ui
