// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/sparse/sparse_service.h"

#include <QAbstractTableModel>
#include <array>

namespace attn::ui {

/// The points of a sweep as rows: each budget's adaptive selection, and under it the radial control.
class SweepModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { keep, pattern, density, relative_l1, cosine, mass_kept, seconds, speedup };
  static constexpr int kColumns = 8;
  using QAbstractTableModel::QAbstractTableModel;

  void set_points(const std::vector<SweepPoint>& adaptive, const std::vector<SweepPoint>& radial);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    SweepPoint point;
    bool radial = false;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows_;
};

}  // namespace attn::ui
