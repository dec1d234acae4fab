// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/table_list.h"

#include "ui/format/csv.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QSettings>
#include <QStyledItemDelegate>
#include <algorithm>

namespace attn::ui {

TableList::TableList(const QString& name, QWidget* parent) : QWidget(parent), name_(name), view_(new QTableView(this)) {
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
  header->setStretchLastSection(true);
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

void TableList::use(QAbstractItemModel* model, QStyledItemDelegate* delegate, std::vector<ListColumn> columns) {
  columns_ = std::move(columns);
  view_->setModel(model);
  view_->setItemDelegate(delegate);
  QHeaderView* header = view_->horizontalHeader();
  header->setSortIndicator(-1, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  reset_columns();
}

void TableList::fit_columns(int flexible) {
  flexible_ = flexible;
  if (fitted_) return;
  fitted_ = true;
  const QAbstractItemView& contents = *view_;
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) {
    const int least = columns_[static_cast<std::size_t>(column)].least;
    view_->setColumnWidth(column, std::max(least, contents.sizeHintForColumn(column)));
  }
  give_way();
}

void TableList::give_way() {
  // The view itself may not have been laid out yet; beside it a scroll bar may come.
  constexpr int kScrollBar = 12;
  const int excess = view_->horizontalHeader()->length() - (width() - kScrollBar);
  const int least = columns_[static_cast<std::size_t>(flexible_)].least;
  if (excess > 0) view_->setColumnWidth(flexible_, std::max(least, view_->columnWidth(flexible_) - excess));
}

void TableList::show_column(int column, int behind) {
  QHeaderView* header = view_->horizontalHeader();
  const int to = header->visualIndex(behind);
  const int from = header->visualIndex(column);
  header->moveSection(from, from > to ? to + 1 : to);
  view_->setColumnHidden(column, false);
  const QAbstractItemView& contents = *view_;
  view_->setColumnWidth(column,
                        std::max(columns_[static_cast<std::size_t>(column)].least, contents.sizeHintForColumn(column)));
}

bool TableList::offers(int) const { return true; }

void TableList::reset_columns() {
  QHeaderView* header = view_->horizontalHeader();
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) {
    header->moveSection(header->visualIndex(column), column);
    view_->setColumnHidden(column, !columns_[static_cast<std::size_t>(column)].shown);
    view_->setColumnWidth(column, columns_[static_cast<std::size_t>(column)].least);
  }
  fitted_ = false;
  if (view_->model()->rowCount() > 0) fit_columns(flexible_);
}

void TableList::fill_columns_menu(QMenu* menu) {
  const QAbstractItemModel* model = view_->model();
  const auto shown = shown_columns();
  for (int column = 0; column < model->columnCount(); ++column) {
    if (!offers(column)) continue;
    QAction* action = menu->addAction(model->headerData(column, Qt::Horizontal).toString());
    action->setToolTip(model->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString());
    action->setCheckable(true);
    action->setChecked(!view_->isColumnHidden(column));
    action->setEnabled(shown.size() > 1 || shown.front() != column);  // one has to stay
    connect(action, &QAction::toggled, this, [this, column](bool on) {
      view_->setColumnHidden(column, !on);
      const int least = columns_[static_cast<std::size_t>(column)].least;
      const QAbstractItemView& contents = *view_;
      if (on) view_->setColumnWidth(column, std::max(least, contents.sizeHintForColumn(column)));
    });
  }
  menu->addSeparator();
  connect(menu->addAction(tr("Reset columns")), &QAction::triggered, this, &TableList::reset_columns);
}

std::vector<int> TableList::shown_columns() const {
  std::vector<int> columns;
  const QHeaderView* header = view_->horizontalHeader();
  for (int place = 0; place < header->count(); ++place) {
    if (!header->isSectionHidden(header->logicalIndex(place))) columns.push_back(header->logicalIndex(place));
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
  for (const int column : shown_columns()) cells << model->headerData(column, Qt::Horizontal).toString();
  lines << cells.join('\t');
  for (const int row : rows) {
    cells.clear();
    for (const int column : shown_columns()) cells << model->index(row, column).data().toString();
    lines << cells.join('\t');
  }
  QGuiApplication::clipboard()->setText(lines.join('\n') + '\n');
}

void TableList::copy_csv() const {
  const std::vector<int> rows = selected_rows();
  if (rows.empty()) return;
  QStringList cells;
  const QAbstractItemModel* model = view_->model();
  for (const int column : shown_columns()) cells << model->headerData(column, Qt::Horizontal).toString();
  QString text = csv_line(cells);
  for (const int row : rows) {
    cells.clear();
    for (const int column : shown_columns()) cells << plain_text(model->index(row, column));
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
  settings.setValue(name_ + "/columns", view_->horizontalHeader()->saveState());
  settings.setValue(name_ + "/count", view_->horizontalHeader()->count());
}

void TableList::restore(const QSettings& settings) {
  const QByteArray state = settings.value(name_ + "/columns").toByteArray();
  QHeaderView* header = view_->horizontalHeader();
  // A state of other columns than there are would hide new ones.
  if (state.isEmpty() || settings.value(name_ + "/count", header->count()).toInt() != header->count()) return;
  fitted_ = header->restoreState(state);
}

}  // namespace attn::ui
