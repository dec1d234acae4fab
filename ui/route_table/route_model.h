// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <QAbstractTableModel>
#include <vector>

namespace attn::ui {

/// The distinct routes of a run. Takes a whole snapshot at a time: rows that are there change in place, new ones are
/// inserted in one go, and only another run starts over. Text is made when it is shown.
class RouteModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { executed, requested, role, steps, query, key, dtype, mask, strides, calls, time, share, kColumns };
  enum Roles {
    sort_role = Qt::UserRole,  ///< the raw number or text
    backend_role,              ///< executed: "sdnq" for the colour
    variant_role,              ///< executed: what stands behind the name
    differs_role,              ///< requested: true when somebody else served
    share_role,                ///< share: 0..1
  };

  using QAbstractTableModel::QAbstractTableModel;

  void set_snapshot(const trace::TraceSnapshot& snapshot);
  [[nodiscard]] const trace::RouteRow& row(int at) const { return rows_[static_cast<std::size_t>(at)]; }
  /// -1: no such route.
  [[nodiscard]] int find(const trace::RouteIdentity& id) const;
  /// Whether shares are of time; else of calls.
  [[nodiscard]] bool shares_time() const noexcept { return shares_time_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] double share_of(const trace::RouteRow& row) const;
  [[nodiscard]] QString text(const trace::RouteRow& row, int column) const;
  [[nodiscard]] QVariant sort_key(const trace::RouteRow& row, int column) const;

  std::vector<trace::RouteRow> rows_;
  qint64 calls_ = 0;
  double seconds_ = 0.0;
  bool shares_time_ = false;
};

/// Time of all calls of a route: measured where every call was computed, else scaled from those that were; 0 when
/// none was.
[[nodiscard]] double whole_seconds(const trace::RouteRow& row) noexcept;

}  // namespace attn::ui
