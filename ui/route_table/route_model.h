// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/call_changes.h"
#include "ui/filter/filter.h"
#include "ui/route_table/cell_roles.h"
#include "ui/route_table/route_changes.h"
#include "ui/route_table/route_columns.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <functional>
#include <memory>
#include <vector>

namespace attn::ui {

/// What the rows of the route table are put together by.
enum class Grouping : std::uint8_t { none, role, step, backend };

/// The distinct routes of a run. Takes a whole snapshot at a time: rows that are there change in place, new ones are
/// inserted in one go, and only another run starts over. Text is made when it is shown.
///
/// With a grouping, rows with the sums of a group stand after the routes; the filter brings them to their place. By
/// step, a route has a row for each of its steps.
class RouteModel final : public QAbstractTableModel, public CellRoles, public RouteColumns {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void set_snapshot(const trace::TraceSnapshot& snapshot);
  void set_grouping(Grouping grouping);
  /// The run that the last columns compare with; null: none.
  void set_baseline(std::shared_ptr<const BaselineRoutes> baseline);
  [[nodiscard]] const BaselineRoutes* baseline() const noexcept { return baseline_.get(); }
  /// The whole run against the baseline; zeros without one.
  [[nodiscard]] const RunAgainst& against() const noexcept { return against_; }
  /// The same for single calls, as they are matched now; null without a baseline.
  [[nodiscard]] std::shared_ptr<const CallChanges> call_changes() const;
  /// Where measured errors come from: asked for each route, now and at each call of this.
  struct RouteError {
    double relative_l1 = 0.0;
    QString tip;
  };
  using ErrorSource = std::function<std::optional<RouteError>(const trace::RouteRow&)>;
  void set_errors(ErrorSource source);
  [[nodiscard]] Grouping grouping() const noexcept { return grouping_; }

  /// Of a group's row: its sums.
  [[nodiscard]] const trace::RouteRow& row(int at) const { return rows_[static_cast<std::size_t>(at)].route; }
  [[nodiscard]] bool is_header(int at) const { return rows_[static_cast<std::size_t>(at)].header; }
  /// Where a row's group stands among the groups.
  [[nodiscard]] int group_of(int at) const { return rows_[static_cast<std::size_t>(at)].group; }
  /// The first row of a route, of its step where rows are by step; -1: there is none.
  [[nodiscard]] int find(const trace::RouteIdentity& id, std::optional<int> step = {}) const;
  /// Rows that are no group's.
  [[nodiscard]] int routes() const noexcept { return static_cast<int>(rows_.size() - headers_); }
  /// Of the whole route, whatever the rows are.
  [[nodiscard]] int first_step(const trace::RouteIdentity& id) const;
  [[nodiscard]] int last_step(const trace::RouteIdentity& id) const;
  /// What a filter reads of a row.
  [[nodiscard]] FilterRow filter_row(int at) const;
  /// Different values of a text field, in order of first sighting.
  [[nodiscard]] QStringList values_of(FilterField field) const;
  /// Whether shares are of time; else of calls.
  [[nodiscard]] bool shares_time() const noexcept { return totals_.in_seconds; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    trace::RouteRow route;
    int group = 0;
    bool header = false;
    QString name;  ///< of a group
    RouteThen then{};
  };

  void match();
  void refresh();
  [[nodiscard]] RouteChange change_of(const Row& row) const { return {row.route, row.then, totals_, *baseline_}; }
  [[nodiscard]] QVariant change_data(const Row& row, RouteColumn column, int role) const;
  [[nodiscard]] QString tip_of(const Row& row, int column) const;

  [[nodiscard]] std::vector<Row> rows_of(const trace::TraceSnapshot& snapshot) const;
  [[nodiscard]] int group_key(const trace::RouteRow& route, QString& name) const;
  void add_headers(std::vector<Row>& rows) const;
  void take(std::vector<Row> next, bool unit_changed);
  enum class Change : std::uint8_t { none, cells, is_new };
  void tell_changes(const std::vector<Change>& changed);
  [[nodiscard]] QVariant header_data(const Row& row, int column, int role) const;

  std::vector<Row> rows_;
  std::size_t headers_ = 0;  ///< how many of them, at the end
  trace::TraceSnapshot snapshot_;
  Grouping grouping_ = Grouping::none;
  RouteTotals totals_;
  std::shared_ptr<const BaselineRoutes> baseline_;
  std::shared_ptr<const RouteMatch> match_ = std::make_shared<const RouteMatch>();
  RunAgainst against_;
  ErrorSource errors_;
};

}  // namespace attn::ui
