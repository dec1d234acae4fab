// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/route_table/route_filter.h"
#include "ui/route_table/route_model.h"
#include "ui/route_table/table_list.h"
#include "ui/selection/selection.h"

class QStackedWidget;

namespace attn::ui {

/// The distinct routes of the run. It keeps selection, scroll and column widths while rows arrive.
class RouteList final : public TableList {
  Q_OBJECT

 public:
  RouteList(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  void set_run(const trace::TraceSnapshot& run);
  void set_filter(const Filter& filter);
  void set_grouping(Grouping grouping);
  /// Shows the columns that compare with a run; null: hides them again.
  void set_baseline(std::shared_ptr<const BaselineRoutes> baseline);
  void set_errors(RouteModel::ErrorSource source);
  void find(const Filter& filter, bool backwards) override;
  void reset_columns() override;
  void save(QSettings& settings) override;
  [[nodiscard]] const RouteModel& model() const noexcept { return model_; }
  /// "5 of 7 routes", and what differs from the baseline.
  [[nodiscard]] QString facts() const;

 signals:
  /// facts() are others, and not because of another run.
  void facts_changed();
  /// Somebody wants to know a route's error against exact attention.
  void error_wanted(const attn::trace::RouteRow& route);

 protected:
  [[nodiscard]] QString filter_of(const QModelIndex& cell) const override;
  [[nodiscard]] QString plain_text(const QModelIndex& cell) const override;
  void add_entries(QMenu* menu, const QModelIndex& cell) override;
  [[nodiscard]] bool offers(int column) const override;

 private:
  void choose(const QModelIndex& current);
  void show_selection();
  void show_page();
  void show_changes();
  void hide_changes();
  void fit_time();
  [[nodiscard]] static std::vector<GivesWay> giving(bool compares);

  Selection& selection_;
  RouteModel model_;
  RouteFilter filter_;
  QStackedWidget* stack_;
  bool can_measure_ = false;
  qsizetype longest_time_ = 0;  ///< characters that the column of times was made wide enough for
  bool showing_ = false;        ///< the selection is being shown: what the view then says is not a person's choice
};

}  // namespace attn::ui
