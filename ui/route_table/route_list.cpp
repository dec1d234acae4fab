// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_list.h"

#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/route_table/route_delegate.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

RouteList::RouteList(Selection& selection, const Theme& theme, QWidget* parent)
    : TableList("route_table", parent), selection_(selection) {
  filter_.setSourceModel(&model_);
  std::vector<ListColumn> columns;
  for (int column = 0; column < kRouteColumnCount; ++column) {
    const RouteColumnSpec& spec = spec_of(static_cast<RouteColumn>(column));
    columns.push_back({spec.shown, spec.least});
  }
  view()->setAccessibleName(tr("Routes"));
  const RouteDelegate::Columns painted{
      RouteModel::executed,     RouteModel::requested,
      RouteModel::share,        {RouteModel::query, RouteModel::key, RouteModel::value},
      RouteModel::backend_then, RouteModel::time_change};
  use(&filter_, new RouteDelegate(theme, painted, view()), std::move(columns));
  set_giving(giving(false));
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No routes yet"),
                                   tr("Choose a model and press Run: every attention call of one generation is routed, "
                                      "and each distinct route gets a row here."),
                                   stack_));
  stack_->addWidget(
      new EmptyState(tr("The filter hides every route"), tr("Take a condition out of the filter line."), stack_));
  stack_->addWidget(view());
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(stack_);
  connect(view()->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &RouteList::choose);
  connect(&selection_, &Selection::changed, this, [this](const QObject* origin) {
    if (origin != this) show_selection();
  });
}

std::vector<GivesWay> RouteList::giving(bool compares) {
  // What the decision record says too goes first; what a route is, and what it costs, stays.
  std::vector<GivesWay> giving{{RouteModel::strides, 0}, {RouteModel::dtype, 0}, {RouteModel::executed, 140},
                               {RouteModel::value, 0},   {RouteModel::mask, 0},  {RouteModel::steps, 0}};
  // With a baseline, who served then says more than who was asked.
  if (compares) giving.push_back({RouteModel::requested, 0});
  giving.insert(giving.end(), {{RouteModel::key, 0},
                               {RouteModel::time_change, 70},
                               {RouteModel::executed, 116},
                               {RouteModel::share_change, 0},
                               {RouteModel::calls_change, 0},
                               {RouteModel::share, 0},
                               {RouteModel::time, 66}});
  return giving;
}

void RouteList::choose(const QModelIndex& current) {
  if (!current.isValid() || showing_) return;
  const int at = filter_.mapToSource(current).row();
  const trace::RouteRow& route = model_.row(at);
  if (model_.is_header(at)) {
    if (model_.grouping() == Grouping::role) selection_.choose_role(route.id.role, this);
    if (model_.grouping() == Grouping::step) selection_.choose_step(route.id.role, route.first_step, this);
    return;
  }
  if (model_.grouping() != Grouping::step) {
    selection_.choose(route, this);
    return;
  }
  // The row of a step stands for the whole route, in that step.
  trace::RouteRow whole = route;
  whole.first_step = model_.first_step(route.id);
  whole.last_step = model_.last_step(route.id);
  selection_.choose_in_step(whole, route.first_step, this);
}

void RouteList::set_run(const trace::TraceSnapshot& run) {
  const bool was_empty = model_.rowCount() == 0;
  model_.set_snapshot(run);
  if (was_empty && model_.rowCount() > 0) fit_columns();
  fit_time();
  if (was_empty || !view()->selectionModel()->hasSelection()) show_selection();
  show_page();
}

void RouteList::set_filter(const Filter& filter) {
  filter_.set_filter(filter);
  show_selection();
  show_page();
}

void RouteList::set_grouping(Grouping grouping) {
  model_.set_grouping(grouping);
  filter_.sort_again();
  show_selection();
  show_page();
}

void RouteList::find(const Filter& filter, bool backwards) {
  const int count = filter_.rowCount();
  const QModelIndex current = view()->currentIndex();
  std::vector<int> hits;
  for (int row = 0; row < count; ++row) {
    const int at = filter_.mapToSource(filter_.index(row, 0)).row();
    if (!model_.is_header(at) && filter.matches(model_.filter_row(at))) hits.push_back(row);
  }
  if (hits.empty()) {
    emit found(tr("No route matches."));
    return;
  }
  const int from = current.isValid() ? current.row() : (backwards ? count : -1);
  auto hit =
      backwards ? std::lower_bound(hits.begin(), hits.end(), from) : std::upper_bound(hits.begin(), hits.end(), from);
  if (backwards) hit = hit == hits.begin() ? hits.end() - 1 : hit - 1;
  if (hit == hits.end()) hit = hits.begin();
  view()->selectRow(*hit);
  emit found(tr("%1 of %2").arg(hit - hits.begin() + 1).arg(hits.size()));
}

QString RouteList::facts() const {
  const int all = model_.routes();
  if (all == 0) return {};
  const int shown = filter_.routes();
  const QString whole = counted(all, model_.grouping() == Grouping::step ? tr("row") : tr("route"));
  const QString some = shown == all ? whole : tr("%1 of %2").arg(shown).arg(whole);
  const BaselineRoutes* baseline = model_.baseline();
  return baseline == nullptr ? some : tr("%1 · against %2: %3").arg(some, baseline->name, model_.against().sentence());
}

void RouteList::set_baseline(std::shared_ptr<const BaselineRoutes> baseline) {
  const bool had = model_.baseline() != nullptr;
  const bool has = baseline != nullptr;
  model_.set_baseline(std::move(baseline));
  if (has && !had) show_changes();
  if (had && !has) hide_changes();
  emit facts_changed();
}

void RouteList::set_errors(RouteModel::ErrorSource source) {
  can_measure_ = source != nullptr;
  model_.set_errors(std::move(source));
  bool any = false;
  for (int at = 0; at < model_.rowCount(); ++at) any = any || model_.row(at).error;
  // Where it is seen at once: the table may be wider than its room.
  const int behind = model_.baseline() != nullptr ? RouteModel::backend_then : RouteModel::requested;
  if (any && !is_chosen(RouteModel::error)) show_column(RouteModel::error, behind);
}

void RouteList::fit_time() {
  // Times come while a run goes on, long after the columns were made as wide as what was there.
  qsizetype longest = 0;
  for (int at = 0; at < model_.rowCount(); ++at) {
    longest = std::max(longest, model_.index(at, RouteModel::time).data().toString().size());
  }
  if (longest <= longest_time_) return;
  longest_time_ = longest;
  const QAbstractItemView& contents = *view();
  widen(RouteModel::time, contents.sizeHintForColumn(RouteModel::time));
}

void RouteList::show_changes() {
  set_giving(giving(true));
  show_column(RouteModel::backend_then, RouteModel::executed);
  show_column(RouteModel::calls_change, RouteModel::calls);
  show_column(RouteModel::time_change, RouteModel::time);
  show_column(RouteModel::share_change, RouteModel::time_change);
  // Both are as wide as what will stand there, not only as what stands there now: runs are to come.
  for (const auto& [column, text] :
       {std::pair{RouteModel::time, "≈ 00 min 00 s"}, std::pair{RouteModel::time_change, "≈ −000 ms (−00 %)"}}) {
    constexpr int kPadding = 14;
    widen(column, view()->fontMetrics().horizontalAdvance(QString::fromUtf8(text)) + kPadding);
  }
}

void RouteList::hide_changes() {
  for (const int column :
       {RouteModel::backend_then, RouteModel::calls_change, RouteModel::time_change, RouteModel::share_change}) {
    hide_column(column);
  }
  set_giving(giving(false));
}

bool RouteList::offers(int column) const {
  return model_.baseline() != nullptr || !is_change(static_cast<RouteColumn>(column));
}

void RouteList::reset_columns() {
  TableList::reset_columns();
  if (model_.baseline() != nullptr) show_changes();
}

void RouteList::save(QSettings& settings) {
  // The next start begins without a baseline.
  const bool compares = model_.baseline() != nullptr;
  if (compares) hide_changes();
  TableList::save(settings);
  if (compares) show_changes();
}

void RouteList::show_selection() {
  const auto& route = selection_.route();
  const int at = route ? model_.find(route->id, selection_.step()) : -1;
  const QModelIndex index = at < 0 ? QModelIndex() : filter_.mapFromSource(model_.index(at, 0));
  if (index.isValid()) {
    if (view()->currentIndex().row() == index.row() && view()->selectionModel()->isRowSelected(index.row())) return;
    showing_ = true;
    view()->selectRow(index.row());
    showing_ = false;
  } else {
    view()->clearSelection();
    view()->selectionModel()->setCurrentIndex({}, QItemSelectionModel::NoUpdate);
  }
}

void RouteList::show_page() { stack_->setCurrentIndex(model_.rowCount() == 0 ? 0 : (filter_.rowCount() == 0 ? 1 : 2)); }

QString RouteList::filter_of(const QModelIndex& cell) const {
  const int at = filter_.mapToSource(cell).row();
  return model_.is_header(at) ? QString() : cell_filter(model_.row(at), static_cast<RouteColumn>(cell.column()));
}

QString RouteList::plain_text(const QModelIndex& cell) const {
  const QString text = cell.data(RouteModel::sort_role).toString();
  // A volume sorts shapes, and the first step the steps; people and programs want both as they are written.
  const auto column = static_cast<RouteModel::Column>(cell.column());
  const bool as_shown = column == RouteModel::query || column == RouteModel::key || column == RouteModel::value ||
                        column == RouteModel::steps;
  return as_shown ? cell.data().toString().replace(QChar(0x00D7), 'x').replace(QChar(0x2013), '-') : text;
}

void RouteList::add_entries(QMenu* menu, const QModelIndex& cell) {
  const int at = filter_.mapToSource(cell).row();
  if (model_.is_header(at)) return;
  menu->addSeparator();
  if (can_measure_) {
    QAction* measure = menu->addAction(tr("Measure error against exact attention"));
    measure->setToolTip(tr("One call of this route on generated tensors: as it was served, and exactly"));
    connect(measure, &QAction::triggered, this, [this, route = model_.row(at)] { emit error_wanted(route); });
  }
  connect(menu->addAction(tr("Copy call for attnctl explain")), &QAction::triggered, this,
          [written = text_of(written_call(model_.row(at), false))] { QGuiApplication::clipboard()->setText(written); });
}

}  // namespace attn::ui
