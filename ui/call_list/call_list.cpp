// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_list.h"

#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/route_table/route_delegate.h"

#include <QScrollBar>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr int number(CallColumn column) { return static_cast<int>(column); }

}  // namespace

CallList::CallList(Selection& selection, const Theme& theme, QWidget* parent)
    : TableList("call_table", parent), selection_(selection) {
  std::vector<ListColumn> columns;
  for (int column = 0; column < kCallColumnCount; ++column) {
    const CallColumnSpec& spec = spec_of(static_cast<CallColumn>(column));
    columns.push_back({spec.shown, spec.least});
  }
  view()->setAccessibleName(tr("Calls"));
  const RouteDelegate::Columns painted{number(CallColumn::executed),
                                       number(CallColumn::requested),
                                       -1,
                                       {number(CallColumn::query), number(CallColumn::key), number(CallColumn::value)},
                                       number(CallColumn::backend_then),
                                       number(CallColumn::time_change)};
  use(&model_, new RouteDelegate(theme, painted, view()), std::move(columns));
  set_giving({{number(CallColumn::dtype), 0},
              {number(CallColumn::executed), 120},
              {number(CallColumn::value), 0},
              {number(CallColumn::mask), 0},
              {number(CallColumn::begin), 0},
              {number(CallColumn::key), 0},
              {number(CallColumn::time_change), 70},
              {number(CallColumn::kept), 0},
              {number(CallColumn::executed), 100},
              {number(CallColumn::requested), 0},
              {number(CallColumn::number), 52}});
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(
      tr("No calls yet"), tr("Press Run: every single attention call stands here, with its step and time."), stack_));
  stack_->addWidget(
      new EmptyState(tr("The filter hides every call"), tr("Take a condition out of the filter line."), stack_));
  stack_->addWidget(view());
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(stack_);
  connect(view()->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &CallList::choose);
  connect(&selection_, &Selection::changed, this, [this](const QObject* origin) {
    if (origin != this) show_selection();
  });
  connect(&model_, &QAbstractItemModel::modelAboutToBeReset, this, &CallList::keep_place);
  connect(&model_, &QAbstractItemModel::modelReset, this, &CallList::restore_place);
  connect(&model_, &CallModel::busy_changed, this, &CallList::facts_changed);
  connect(&model_, &CallModel::found, this, [this](int row, qint64 place, qint64 count) {
    if (row >= 0) view()->selectRow(row);
    emit found(row < 0 ? tr("No call matches.") : tr("%1 of %2").arg(count_text(place + 1), count_text(count)));
  });
}

bool CallList::at_end() const {
  const QScrollBar* bar = view()->verticalScrollBar();
  return bar->value() >= bar->maximum();
}

void CallList::set_calls(const trace::CallView& calls) {
  const bool was_empty = model_.rowCount() == 0;
  const bool follows = !was_empty && at_end() && !model_.is_sorted();
  model_.set_calls(calls);
  if (was_empty && model_.rowCount() > 0) fit_columns();
  if (follows) view()->scrollToBottom();
  show_page();
}

void CallList::set_filter(const Filter& filter) {
  model_.set_filter(filter);
  emit facts_changed();
}

void CallList::set_changes(std::shared_ptr<const CallChanges> changes) {
  const bool compares = changes != nullptr;
  model_.set_changes(std::move(changes));
  if (compares == compares_) return;
  compares_ = compares;
  compares ? show_changes() : hide_changes();
}

void CallList::show_changes() {
  show_column(number(CallColumn::backend_then), number(CallColumn::executed));
  show_column(number(CallColumn::time_change), number(CallColumn::time));
}

void CallList::hide_changes() {
  hide_column(number(CallColumn::backend_then));
  hide_column(number(CallColumn::time_change));
}

bool CallList::offers(int column) const { return compares_ || !is_change(static_cast<CallColumn>(column)); }

void CallList::reset_columns() {
  TableList::reset_columns();
  if (compares_) show_changes();
}

void CallList::save(QSettings& settings) {
  // The next start begins without a baseline.
  if (compares_) hide_changes();
  TableList::save(settings);
  if (compares_) show_changes();
}

void CallList::find(const Filter& filter, bool backwards) {
  const QModelIndex current = view()->currentIndex();
  model_.find(filter, current.isValid() ? current.row() : (backwards ? model_.rowCount() : -1), backwards);
}

void CallList::choose(const QModelIndex& current) {
  if (!current.isValid() || showing_) return;
  const CallAt at = model_.at(current.row());
  trace::RouteRow route = at.kind.route;
  route.first_step = route.last_step = at.call.step;
  selection_.choose_call({model_.calls().run(), at.index, at.call}, route, this);
}

void CallList::show_selection() {
  const auto& call = selection_.call();
  const int row = call && call->run == model_.calls().run() ? model_.row_of(call->index) : -1;
  showing_ = true;
  if (row >= 0) {
    if (view()->currentIndex().row() != row) view()->selectRow(row);
  } else {
    view()->clearSelection();
    view()->selectionModel()->setCurrentIndex({}, QItemSelectionModel::NoUpdate);
  }
  showing_ = false;
}

void CallList::keep_place() {
  const int top = view()->rowAt(0);
  top_ = top >= 0 && model_.rowCount() > top ? static_cast<std::int64_t>(model_.call_at(top)) : -1;
}

void CallList::restore_place() {
  const bool was_empty = top_ < 0;
  const int top = was_empty ? -1 : model_.row_of(static_cast<std::size_t>(top_));
  if (was_empty && model_.rowCount() > 0) fit_columns();
  show_selection();
  if (top >= 0 && !model_.is_sorted()) view()->scrollTo(model_.index(top, 0), QAbstractItemView::PositionAtTop);
  show_page();
}

void CallList::show_page() {
  const bool nothing = model_.rowCount() == 0;
  stack_->setCurrentIndex(!nothing || model_.is_busy() ? 2 : (model_.calls().empty() ? 0 : 1));
  emit facts_changed();
}

QString CallList::facts() const {
  const auto all = static_cast<qint64>(model_.calls().size());
  if (all == 0) return {};
  const auto shown = static_cast<qint64>(model_.rowCount());
  QString text =
      shown == all ? counted(all, tr("call")) : tr("%1 of %2").arg(count_text(shown), counted(all, tr("call")));
  if (const std::int64_t more = model_.calls().left_out(); more > 0) {
    text += tr(" · %1 later ones not kept").arg(count_text(more));
  }
  return model_.is_busy() ? text + tr(" · sorting") : text;
}

QString CallList::filter_of(const QModelIndex& cell) const {
  return cell_filter(model_.at(cell.row()), static_cast<CallColumn>(cell.column()));
}

QString CallList::plain_text(const QModelIndex& cell) const {
  return ui::plain_text(model_.at(cell.row()), static_cast<CallColumn>(cell.column()));
}

}  // namespace attn::ui
