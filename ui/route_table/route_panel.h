// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/route_table/route_filter.h"
#include "ui/route_table/route_model.h"
#include "ui/selection/selection.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLineEdit;
class QSettings;
class QStackedWidget;
class QTableView;

namespace attn::ui {

class PanelTitle;

/// The route table with its filter line. It keeps selection, scroll and column widths while rows arrive.
class RoutePanel final : public QWidget {
  Q_OBJECT

 public:
  RoutePanel(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  void set_run(const trace::TraceSnapshot& run);
  [[nodiscard]] QTableView* view() noexcept { return view_; }
  [[nodiscard]] const RouteModel& model() const noexcept { return model_; }
  void focus_filter();
  /// Selected rows as tab-separated text with a header line, to the clipboard.
  void copy() const;
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 private:
  void make_view();
  void show_facts();
  void show_selection();
  void fit_columns();

  Selection& selection_;
  const Theme& theme_;
  RouteModel model_;
  RouteFilter filter_;
  trace::TraceSnapshot run_;
  PanelTitle* title_;
  QLineEdit* line_;
  QStackedWidget* stack_;
  QTableView* view_;
  bool fitted_ = false;  ///< widths were made for rows once; afterwards they belong to the person
};

}  // namespace attn::ui
