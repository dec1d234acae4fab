// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_panel.h"

#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/panel/panel_title.h"
#include "ui/route_table/route_delegate.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QSettings>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

namespace attn::ui {

RoutePanel::RoutePanel(Selection& selection, const Theme& theme, QWidget* parent)
    : QWidget(parent), selection_(selection), theme_(theme) {
  setObjectName("route_panel");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title_ = new PanelTitle(tr("Routes"), theme, this);
  column->addWidget(title_);

  line_ = new QLineEdit(this);
  line_->setObjectName("route_filter");
  line_->setPlaceholderText(tr("Filter: words that a route must have, -word for none of them"));
  line_->setAccessibleName(tr("Filter routes"));
  line_->setToolTip(tr("Every word must appear in some column: transformer sdnq. A minus excludes: -vae (Ctrl+L)"));
  line_->setClearButtonEnabled(true);
  QAction* glass = line_->addAction(theme.icon("search"), QLineEdit::LeadingPosition);
  connect(&theme, &Theme::changed, glass, [this, glass] { glass->setIcon(theme_.icon("search")); });
  auto* filter_row = new QVBoxLayout;
  filter_row->setContentsMargins(12, 7, 12, 6);
  filter_row->addWidget(line_);
  column->addLayout(filter_row);

  filter_.setSourceModel(&model_);
  make_view();
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No routes yet"),
                                   tr("Choose a model and press Run: every attention call of one generation is routed, "
                                      "and each distinct route gets a row here."),
                                   stack_));
  stack_->addWidget(
      new EmptyState(tr("The filter hides every route"), tr("Take a word out of the filter line."), stack_));
  stack_->addWidget(view_);
  column->addWidget(stack_, 1);

  connect(line_, &QLineEdit::textChanged, this, [this](const QString& text) {
    filter_.set_line(text);
    show_selection();
    show_facts();
  });
  connect(&selection_, &Selection::changed, this, [this](const QObject* origin) {
    if (origin != this) show_selection();
  });
  show_facts();
}

void RoutePanel::make_view() {
  view_ = new QTableView(this);
  view_->setObjectName("route_table");
  view_->setAccessibleName(tr("Routes"));
  view_->setModel(&filter_);
  view_->setItemDelegate(new RouteDelegate(theme_, view_));
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
  header->setSortIndicator(-1, Qt::DescendingOrder);
  view_->setSortingEnabled(true);
  view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  auto* copy_rows = new QAction(tr("Copy rows"), view_);
  copy_rows->setShortcut(QKeySequence::Copy);
  copy_rows->setShortcutContext(Qt::WidgetShortcut);
  auto* copy_call = new QAction(tr("Copy call for attnctl explain"), view_);
  view_->addActions({copy_rows, copy_call});
  connect(copy_rows, &QAction::triggered, this, &RoutePanel::copy);
  connect(copy_call, &QAction::triggered, this, [this] {
    if (const auto& route = selection_.route()) {
      QGuiApplication::clipboard()->setText(text_of(written_call(*route, false)));
    }
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
    if (current.isValid()) selection_.choose(model_.row(filter_.mapToSource(current).row()), this);
  });
}

void RoutePanel::set_run(const trace::TraceSnapshot& run) {
  run_ = run;
  const bool was_empty = model_.rowCount() == 0;
  model_.set_snapshot(run);
  if (was_empty && model_.rowCount() > 0) {
    fit_columns();
    show_selection();
  } else if (!view_->selectionModel()->hasSelection()) {
    show_selection();
  }
  show_facts();
}

void RoutePanel::fit_columns() {
  if (fitted_) return;
  fitted_ = true;
  const QAbstractItemView& contents = *view_;
  // Room for what later rows may hold; all of it fits beside both docks at 1680.
  static constexpr std::array<int, RouteModel::kColumns> kLeast{166, 80, 92, 50, 106, 106, 52, 54, 80, 50, 66, 70};
  for (int column = 0; column < RouteModel::kColumns; ++column) {
    view_->setColumnWidth(column,
                          std::max(kLeast[static_cast<std::size_t>(column)], contents.sizeHintForColumn(column)));
  }
}

void RoutePanel::show_selection() {
  const auto& route = selection_.route();
  const int at = route ? model_.find(route->id) : -1;
  const QModelIndex index = at < 0 ? QModelIndex() : filter_.mapFromSource(model_.index(at, 0));
  if (index.isValid()) {
    if (view_->currentIndex().row() != index.row()) view_->selectRow(index.row());
  } else {
    view_->clearSelection();
    view_->selectionModel()->setCurrentIndex({}, QItemSelectionModel::NoUpdate);
  }
}

void RoutePanel::show_facts() {
  const int all = model_.rowCount();
  const int shown = filter_.rowCount();
  stack_->setCurrentIndex(all == 0 ? 0 : (shown == 0 ? 1 : 2));
  if (all == 0) {
    title_->set_facts({});
    return;
  }
  const QString routes =
      shown == all ? counted(all, tr("route")) : tr("%1 of %2").arg(shown).arg(counted(all, tr("route")));
  title_->set_facts(routes + " · " + counted(run_.calls, tr("call")) + " · " +
                    tr("%1 dropped").arg(count_text(static_cast<qint64>(run_.dropped))));
}

void RoutePanel::focus_filter() {
  line_->setFocus(Qt::ShortcutFocusReason);
  line_->selectAll();
}

void RoutePanel::copy() const {
  QModelIndexList rows = view_->selectionModel()->selectedRows();
  if (rows.isEmpty()) return;
  std::sort(rows.begin(), rows.end(), [](const QModelIndex& a, const QModelIndex& b) { return a.row() < b.row(); });
  QStringList lines;
  QStringList cells;
  for (int column = 0; column < RouteModel::kColumns; ++column) {
    cells << model_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  }
  lines << cells.join('\t');
  for (const QModelIndex& row : rows) {
    cells.clear();
    for (int column = 0; column < RouteModel::kColumns; ++column) {
      cells << row.sibling(row.row(), column).data().toString();
    }
    lines << cells.join('\t');
  }
  QGuiApplication::clipboard()->setText(lines.join('\n') + '\n');
}

void RoutePanel::save(QSettings& settings) const {
  if (fitted_) settings.setValue("routes/header", view_->horizontalHeader()->saveState());
}

void RoutePanel::restore(const QSettings& settings) {
  const QByteArray state = settings.value("routes/header").toByteArray();
  fitted_ = !state.isEmpty() && view_->horizontalHeader()->restoreState(state);
}

}  // namespace attn::ui
