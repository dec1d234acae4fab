// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/call_list/call_list.h"
#include "ui/filter/saved_filters.h"
#include "ui/route_table/find_bar.h"
#include "ui/route_table/route_list.h"

#include <QWidget>

class QComboBox;
class QSettings;
class QStackedWidget;
class QTabBar;
class QToolButton;

namespace attn::ui {

class PanelTitle;

/// Routes and single calls behind two tabs, under one filter line.
class RoutePanel final : public QWidget {
  Q_OBJECT

 public:
  RoutePanel(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  void set_run(const trace::TraceSnapshot& run);
  void set_calls(const trace::CallView& calls);
  [[nodiscard]] QTableView* view() noexcept { return routes_->view(); }
  [[nodiscard]] const RouteModel& model() const noexcept { return routes_->model(); }
  [[nodiscard]] RouteList& routes() noexcept { return *routes_; }
  [[nodiscard]] CallList& calls() noexcept { return *calls_; }
  [[nodiscard]] FilterLine& filter() noexcept { return *line_; }
  void show_calls(bool calls);
  void focus_filter();
  /// Selected rows of the list in front as tab-separated text with a header line, or as CSV, to the clipboard.
  void copy() const { front().copy_text(); }
  void copy_csv() const { front().copy_csv(); }
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

  /// "filter.focus" Ctrl+L, "filter.find" Ctrl+Shift+F, "filter.find_next" F3, "filter.find_previous" Shift+F3,
  /// "routes.copy_csv".
  [[nodiscard]] const QList<QAction*>& actions_of_panel() const noexcept { return actions_; }

 private:
  QWidget* make_line(const Theme& theme);
  void make_actions();
  void show_facts();
  void show_room();
  [[nodiscard]] TableList& front() const;

  Selection& selection_;
  qint64 call_count_ = 0;
  std::uint64_t dropped_ = 0;
  trace::CallView newest_calls_;
  PanelTitle* title_;
  QTabBar* tabs_;
  FilterLine* line_;
  SavedFilters* saved_;
  QComboBox* grouping_;
  QToolButton* columns_;
  FindBar* find_;
  QStackedWidget* pages_;
  RouteList* routes_;
  CallList* calls_;
  QList<QAction*> actions_;
};

}  // namespace attn::ui
