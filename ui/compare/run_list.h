// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/run_archive.h"
#include "ui/theme/theme.h"

#include <QAbstractTableModel>

namespace attn::ui {

/// The runs of an archive, the newest first.
class RunListModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { run, model, chain, outcome, ended, kColumns };

  RunListModel(const RunArchive& archive, const Theme& theme, QObject* parent = nullptr);

  /// Its number; 0 for no row.
  [[nodiscard]] int number_at(int row) const;
  /// -1: it is not in the list.
  [[nodiscard]] int row_of(int number) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void take();

  const RunArchive& archive_;
  const Theme& theme_;
  std::vector<RunValue> rows_;  ///< newest first
};

}  // namespace attn::ui
