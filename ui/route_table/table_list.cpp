// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/table_list.h"

#include "ui/format/csv.h"
#include "ui/route_table/cell_roles.h"
#include "ui/route_table/route_delegate.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPaintEvent>
#include <QPainter>
#include <QScopedValueRollback>
#include <QSettings>
#include <algorithm>

namespace attn::ui {

namespace {

/// Rows go on to the edge of the window, whatever its columns need.
class RowView final : public QTableView {
 public:
  using QTableView::QTableView;

 protected:
  void paintEvent(QPaintEvent* event) override {
    QTableView::paintEvent(event);
    const auto* delegate = qobject_cast<RouteDelegate*>(itemDelegate());
    const int from = horizontalHeader()->length() - horizontalHeader()->offset();
    const int room = viewport()->width() - from;
    if (delegate == nullptr || room <= 0) return;
    QPainter painter(viewport());
    const int last = rowAt(event->rect().bottom());
    for (int row = std::max(0, rowAt(event->rect().top())); row < model()->rowCount(); ++row) {
      if (last >= 0 && row > last) break;
      delegate->paint_ground(painter, {from, rowViewportPosition(row), room, rowHeight(row)},
                             selectionModel()->isRowSelected(row),
                             model()->index(row, 0).data(CellRoles::header_role).toBool());
    }
  }
};

}  // namespace

TableList::TableList(const QString& name, QWidget* parent) : QWidget(parent), name_(name), view_(new RowView(this)) {
  view_->setObjectName(name);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  view_->verticalHeader()->setDefaultSectionSize(26);
  QHeaderView* header = view_->horizontalHeader();
  header->setHighlightSections(false);
  header->setSectionsMovable(true);
  connect(header, &QHeaderView::sectionResized, this, [this](int column, int, int width) {
    if (fitting_ || width == 0) return;
    widths_[static_cast<std::size_t>(column)] = width;
    kept_[static_cast<std::size_t>(column)] = 1;
  });
  header->setSortIndicatorClearable(true);
  header->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(header, &QWidget::customContextMenuRequested, this, [this, header](const QPoint& at) {
    QMenu menu(this);
    fill_columns_menu(&menu);
    menu.exec(header->mapToGlobal(at));
  });
  auto* copy_rows = new QAction(tr("Copy rows"), view_);
  copy_rows->setShortcut(QKeySequence::Copy);
  copy_rows->setShortcutContext(Qt::WidgetShortcut);
  connect(copy_rows, &QAction::triggered, this, &TableList::copy_text);
  view_->addAction(copy_rows);
  view_->viewport()->installEventFilter(this);
  view_->installEventFilter(this);
}

void TableList::use(QAbstractItemModel* model, RouteDelegate* delegate, std::vector<ListColumn> columns) {
  const QScopedValueRollback guard(fitting_, true);
  columns_ = std::move(columns);
  view_->setModel(model);
  view_->setItemDelegate(delegate);
  QHeaderView* header = view_->horizontalHeader();
  header->setSortIndicator(-1, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  reset_columns();
}

void TableList::set_giving(std::vector<GivesWay> giving) {
  giving_ = std::move(giving);
  fit_room();
}

int TableList::wished(int column) const {
  const QAbstractItemView& contents = *view_;
  return std::max(columns_[static_cast<std::size_t>(column)].least, contents.sizeHintForColumn(column));
}

void TableList::fit_columns() {
  if (fitted_) return;
  fitted_ = true;
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) {
    if (is_chosen(column)) widths_[static_cast<std::size_t>(column)] = wished(column);
  }
  fit_room();
}

void TableList::fit_room() {
  // The view itself may not have been laid out yet; beside it a scroll bar may come.
  constexpr int kScrollBar = 12;
  std::vector<int> now = widths_;
  int excess = kScrollBar - width();
  for (std::size_t column = 0; column < now.size(); ++column) {
    if (!is_chosen(static_cast<int>(column))) now[column] = 0;
    excess += now[column];
  }
  for (const GivesWay& give : giving_) {
    const auto column = static_cast<std::size_t>(give.column);
    if (excess <= 0) break;
    if (kept_[column] || now[column] <= give.width) continue;
    const int less = give.width == 0 ? now[column] : std::min(excess, now[column] - give.width);
    now[column] -= less;
    excess -= less;
  }
  // What a column left is more than was missing: those that only became narrow have it back, the last first.
  for (auto give = giving_.rbegin(); give != giving_.rend() && excess < 0; ++give) {
    const auto column = static_cast<std::size_t>(give->column);
    if (give->width == 0 || now[column] == 0) continue;
    const int more = std::min(-excess, widths_[column] - now[column]);
    now[column] += more;
    excess += more;
  }
  const QScopedValueRollback guard(fitting_, true);
  bool others = false;
  for (int column = 0; column < static_cast<int>(now.size()); ++column) {
    const int width = now[static_cast<std::size_t>(column)];
    if (view_->isColumnHidden(column) != (width == 0)) {
      view_->setColumnHidden(column, width == 0);
      others = true;
    }
    if (width > 0 && view_->columnWidth(column) != width) view_->setColumnWidth(column, width);
  }
  if (others) emit room_changed();
}

void TableList::show_all() {
  const QScopedValueRollback guard(fitting_, true);
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) {
    view_->setColumnHidden(column, !is_chosen(column));
    if (is_chosen(column)) view_->setColumnWidth(column, widths_[static_cast<std::size_t>(column)]);
  }
}

void TableList::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_room();
}

void TableList::show_column(int column, int behind) {
  QHeaderView* header = view_->horizontalHeader();
  const int to = header->visualIndex(behind);
  const int from = header->visualIndex(column);
  header->moveSection(from, from > to ? to + 1 : to);
  chosen_[static_cast<std::size_t>(column)] = 1;
  widths_[static_cast<std::size_t>(column)] = wished(column);
  fit_room();
}

void TableList::hide_column(int column) {
  chosen_[static_cast<std::size_t>(column)] = 0;
  fit_room();
}

void TableList::widen(int column, int width) {
  int& now = widths_[static_cast<std::size_t>(column)];
  if (width <= now || kept_[static_cast<std::size_t>(column)]) return;
  now = width;
  fit_room();
}

bool TableList::offers(int) const { return true; }

void TableList::reset_columns() {
  QHeaderView* header = view_->horizontalHeader();
  const std::size_t count = columns_.size();
  chosen_.assign(count, 0);
  kept_.assign(count, 0);
  widths_.assign(count, 0);
  for (std::size_t column = 0; column < count; ++column) {
    const int number = static_cast<int>(column);
    header->moveSection(header->visualIndex(number), number);
    chosen_[column] = columns_[column].shown ? 1 : 0;
    widths_[column] = columns_[column].least;
  }
  fitted_ = false;
  fit_room();
  if (view_->model()->rowCount() > 0) fit_columns();
}

void TableList::choose(int column, bool chosen) {
  const auto at = static_cast<std::size_t>(column);
  chosen_[at] = chosen ? 1 : 0;
  kept_[at] = chosen_[at];  // somebody who asks for a column wants to see it
  if (chosen) widths_[at] = wished(column);
  fit_room();
}

QStringList TableList::without_room() const {
  QStringList titles;
  for (const int column : chosen_columns()) {
    if (view_->isColumnHidden(column)) titles << view_->model()->headerData(column, Qt::Horizontal).toString();
  }
  return titles;
}

void TableList::fill_columns_menu(QMenu* menu) {
  const QAbstractItemModel* model = view_->model();
  const auto chosen = chosen_columns();
  for (int column = 0; column < model->columnCount(); ++column) {
    if (!offers(column)) continue;
    const bool no_room = is_chosen(column) && view_->isColumnHidden(column);
    const QString title = model->headerData(column, Qt::Horizontal).toString();
    QAction* action = menu->addAction(no_room ? tr("%1 (no room)").arg(title) : title);
    action->setToolTip(model->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString());
    action->setCheckable(true);
    action->setChecked(is_chosen(column) && !no_room);
    action->setEnabled(chosen.size() > 1 || chosen.front() != column);  // one has to stay
    connect(action, &QAction::toggled, this, [this, column](bool on) { choose(column, on); });
  }
  menu->addSeparator();
  connect(menu->addAction(tr("Reset columns")), &QAction::triggered, this, &TableList::reset_columns);
}

std::vector<int> TableList::chosen_columns() const {
  std::vector<int> columns;
  const QHeaderView* header = view_->horizontalHeader();
  for (int place = 0; place < header->count(); ++place) {
    if (is_chosen(header->logicalIndex(place))) columns.push_back(header->logicalIndex(place));
  }
  return columns;
}

std::vector<int> TableList::selected_rows() const {
  std::vector<int> rows;
  // By ranges: everything selected in a list of millions is one.
  for (const QItemSelectionRange& range : view_->selectionModel()->selection()) {
    for (int row = range.top(); row <= range.bottom() && rows.size() < kMostCopied; ++row) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void TableList::copy_text() const {
  const std::vector<int> rows = selected_rows();
  if (rows.empty()) return;
  QStringList lines;
  QStringList cells;
  const QAbstractItemModel* model = view_->model();
  for (const int column : chosen_columns()) cells << model->headerData(column, Qt::Horizontal).toString();
  lines << cells.join('\t');
  for (const int row : rows) {
    cells.clear();
    for (const int column : chosen_columns()) cells << model->index(row, column).data().toString();
    lines << cells.join('\t');
  }
  QGuiApplication::clipboard()->setText(lines.join('\n') + '\n');
}

void TableList::copy_csv() const {
  const std::vector<int> rows = selected_rows();
  if (rows.empty()) return;
  QStringList cells;
  const QAbstractItemModel* model = view_->model();
  for (const int column : chosen_columns()) cells << model->headerData(column, Qt::Horizontal).toString();
  QString text = csv_line(cells);
  for (const int row : rows) {
    cells.clear();
    for (const int column : chosen_columns()) cells << plain_text(model->index(row, column));
    text += csv_line(cells);
  }
  QGuiApplication::clipboard()->setText(text);
}

void TableList::add_entries(QMenu*, const QModelIndex&) {}

bool TableList::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ContextMenu) return QWidget::eventFilter(watched, event);
  const auto* asked = static_cast<QContextMenuEvent*>(event);
  // The key asks about the current cell, wherever the pointer is.
  const bool by_key = asked->reason() == QContextMenuEvent::Keyboard;
  const QModelIndex cell = by_key ? view_->currentIndex() : view_->indexAt(asked->pos());
  if (!cell.isValid() || (watched == view_ && !by_key)) return QWidget::eventFilter(watched, event);
  show_menu(cell, by_key ? view_->viewport()->mapToGlobal(view_->visualRect(cell).center()) : asked->globalPos());
  return true;
}

void TableList::show_menu(const QModelIndex& cell, const QPoint& where) {
  auto* menu = new QMenu(this);
  menu->setObjectName(name_ + "_menu");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (const QString term = filter_of(cell); !term.isEmpty()) {
    connect(menu->addAction(tr("Filter by %1").arg(term)), &QAction::triggered, this,
            [this, term] { emit filter_wanted(term, false); });
    connect(menu->addAction(tr("Exclude %1").arg(term)), &QAction::triggered, this,
            [this, term] { emit filter_wanted(term, true); });
    menu->addSeparator();
  }
  connect(menu->addAction(tr("Copy cell")), &QAction::triggered, this,
          [text = cell.data().toString()] { QGuiApplication::clipboard()->setText(text); });
  connect(menu->addAction(tr("Copy rows") + '\t' + QKeySequence(QKeySequence::Copy).toString(QKeySequence::NativeText)),
          &QAction::triggered, this, &TableList::copy_text);
  connect(menu->addAction(tr("Copy rows as CSV")), &QAction::triggered, this, &TableList::copy_csv);
  add_entries(menu, cell);
  menu->popup(where);
}

void TableList::save(QSettings& settings) {
  if (!fitted_) return;
  show_all();
  settings.setValue(name_ + "/columns", view_->horizontalHeader()->saveState());
  fit_room();
  settings.setValue(name_ + "/count", view_->horizontalHeader()->count());
}

void TableList::restore(const QSettings& settings) {
  const QByteArray state = settings.value(name_ + "/columns").toByteArray();
  QHeaderView* header = view_->horizontalHeader();
  // A state of other columns than there are would hide new ones.
  if (state.isEmpty() || settings.value(name_ + "/count", header->count()).toInt() != header->count()) return;
  {
    const QScopedValueRollback guard(fitting_, true);
    fitted_ = header->restoreState(state);
  }
  if (!fitted_) return;
  for (int column = 0; column < header->count(); ++column) {
    const auto at = static_cast<std::size_t>(column);
    chosen_[at] = header->isSectionHidden(column) ? 0 : 1;
    if (chosen_[at]) widths_[at] = header->sectionSize(column);
  }
  fit_room();
}

}  // namespace attn::ui
