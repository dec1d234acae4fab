// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_panel.h"

#include "ui/format/format.h"
#include "ui/panel/panel_title.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

namespace attn::ui {

RoutePanel::RoutePanel(Selection& selection, const Theme& theme, QWidget* parent)
    : QWidget(parent), selection_(selection) {
  setObjectName("route_panel");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title_ = new PanelTitle(tr("Routes"), theme, this);
  tabs_ = title_->use_tabs({tr("Routes"), tr("Calls")});
  tabs_->setObjectName("list_tabs");
  column->addWidget(title_);
  column->addWidget(make_line(theme));
  pages_ = new QStackedWidget(this);
  routes_ = new RouteList(selection, theme, pages_);
  calls_ = new CallList(selection, theme, pages_);
  pages_->addWidget(routes_);
  pages_->addWidget(calls_);
  // The lists give way to a sentence or a find bar above them; the window does not grow for these.
  pages_->setMinimumHeight(48);
  column->addWidget(pages_, 1);

  line_->set_values([this](FilterField field) { return routes_->model().values_of(field); });
  connect(line_, &FilterLine::filter_changed, this, [this](const Filter& filter) {
    routes_->set_filter(filter);
    calls_->set_filter(filter);
    show_facts();
  });
  connect(tabs_, &QTabBar::currentChanged, this, [this](int tab) {
    pages_->setCurrentIndex(tab);
    grouping_->setVisible(tab == 0);
    if (tab == 1) {
      calls_->set_changes(routes_->model().call_changes());
      calls_->set_calls(newest_calls_);
    }
    find_->say({});
    show_room();
    show_facts();
  });
  connect(calls_, &CallList::facts_changed, this, &RoutePanel::show_facts);
  connect(routes_, &RouteList::facts_changed, this, [this] {
    // Another baseline, or none any more.
    if (tabs_->currentIndex() == 1) calls_->set_changes(routes_->model().call_changes());
    show_facts();
  });
  for (TableList* list : {static_cast<TableList*>(routes_), static_cast<TableList*>(calls_)}) {
    connect(list, &TableList::filter_wanted, line_, &FilterLine::add_term);
    connect(list, &TableList::found, find_, &FindBar::say);
    connect(list, &TableList::room_changed, this, &RoutePanel::show_room);
  }
  connect(find_, &FindBar::wanted, this,
          [this](const Filter& filter, bool backwards) { front().find(filter, backwards); });
  connect(find_, &FindBar::closed, this, [this] { front().view()->setFocus(Qt::OtherFocusReason); });
  make_actions();
  show_room();
  show_facts();
}

QWidget* RoutePanel::make_line(const Theme& theme) {
  auto* box = new QWidget(this);
  auto* rows = new QVBoxLayout(box);
  rows->setContentsMargins(12, 7, 12, 6);
  rows->setSpacing(6);
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  line_ =
      new FilterLine("route_filter", tr("Filter: words, or conditions such as role:vae q>8192 -mask:none"), theme, box);
  line_->setToolTip(
      tr("Every condition must hold; OR between two means either, a minus excludes: -mask:none. (Ctrl+L)"));
  QAction* glass = line_->field().addAction(theme.icon("search"), QLineEdit::LeadingPosition);
  connect(&theme, &Theme::changed, glass, [&theme, glass] { glass->setIcon(theme.icon("search")); });
  saved_ = new SavedFilters(*line_, box);
  set_look(saved_, "button");
  grouping_ = new QComboBox(box);
  grouping_->setObjectName("route_grouping");
  grouping_->setAccessibleName(tr("Group routes"));
  grouping_->setToolTip(tr("Puts routes together, with the sums of each group"));
  grouping_->addItems({tr("Not grouped"), tr("By role"), tr("By step"), tr("By backend")});
  connect(grouping_, &QComboBox::currentIndexChanged, this, [this](int choice) {
    routes_->set_grouping(static_cast<Grouping>(choice));
    show_facts();
  });
  columns_ = new QToolButton(box);
  columns_->setObjectName("columns");
  columns_->setPopupMode(QToolButton::InstantPopup);
  columns_->setFocusPolicy(Qt::TabFocus);
  columns_->setMenu(new QMenu(columns_));
  set_look(columns_, "button");
  connect(columns_->menu(), &QMenu::aboutToShow, this, [this] {
    columns_->menu()->clear();
    front().fill_columns_menu(columns_->menu());
  });
  row->addWidget(line_, 1);
  for (QWidget* widget :
       {static_cast<QWidget*>(grouping_), static_cast<QWidget*>(saved_), static_cast<QWidget*>(columns_)}) {
    row->addWidget(widget, 0, Qt::AlignTop);
    widget->setFixedHeight(line_->field().sizeHint().height());
  }
  saved_->setText(saved_->text() + QStringLiteral(" ▾"));
  for (QToolButton* button : {static_cast<QToolButton*>(saved_), columns_}) {
    button->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; width: 0; }"));
  }
  rows->addLayout(row);
  rows->addWidget(line_->take_message());
  find_ = new FindBar(theme, box);
  rows->addWidget(find_);
  return box;
}

void RoutePanel::make_actions() {
  const auto add = [this](const char* name, const QString& text, const QKeySequence& keys, auto&& work) {
    auto* action = new QAction(text, this);
    action->setObjectName(name);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, std::forward<decltype(work)>(work));
    actions_ << action;
  };
  add("filter.focus", tr("Fi&lter routes and calls"), QKeySequence(tr("Ctrl+L")), [this] { focus_filter(); });
  add("filter.find", tr("Find in the &list"), QKeySequence(tr("Ctrl+Shift+F")), [this] { find_->open(); });
  add("filter.find_next", tr("Find &next"), QKeySequence(Qt::Key_F3), [this] { find_->go(false); });
  add("filter.find_previous", tr("Find &previous"), QKeySequence(tr("Shift+F3")), [this] { find_->go(true); });
  add("routes.copy_csv", tr("Copy rows as CS&V"), {}, [this] { copy_csv(); });
}

void RoutePanel::show_room() {
  const QStringList hidden = front().without_room();
  columns_->setText(hidden.isEmpty() ? tr("Columns ▾") : tr("Columns +%1 ▾").arg(hidden.size()));
  columns_->setToolTip(hidden.isEmpty() ? tr("Which columns are shown")
                                        : tr("Which columns are shown. No room for %1").arg(hidden.join(", ")));
}

TableList& RoutePanel::front() const {
  return tabs_->currentIndex() == 0 ? static_cast<TableList&>(*routes_) : static_cast<TableList&>(*calls_);
}

void RoutePanel::set_run(const trace::TraceSnapshot& run) {
  call_count_ = run.calls;
  dropped_ = run.dropped;
  routes_->set_run(run);
  show_facts();
}

void RoutePanel::set_calls(const trace::CallView& calls) {
  newest_calls_ = calls;
  // A list that nobody sees takes its calls when it is shown.
  if (tabs_->currentIndex() != 1) return;
  if (routes_->model().baseline() != nullptr) calls_->set_changes(routes_->model().call_changes());
  calls_->set_calls(calls);
}

void RoutePanel::show_calls(bool calls) { tabs_->setCurrentIndex(calls ? 1 : 0); }

void RoutePanel::focus_filter() { line_->focus(); }

void RoutePanel::show_facts() {
  if (call_count_ == 0) {
    title_->set_facts({});
    return;
  }
  const QString dropped = tr("%1 dropped").arg(count_text(static_cast<qint64>(dropped_)));
  if (tabs_->currentIndex() == 1) {
    title_->set_facts(calls_->facts() + " · " + dropped);
  } else {
    title_->set_facts(routes_->facts() + " · " + counted(call_count_, tr("call")) + " · " + dropped);
  }
}

void RoutePanel::save(QSettings& settings) const {
  routes_->save(settings);
  calls_->save(settings);
  saved_->save(settings);
  settings.setValue("routes/grouping", grouping_->currentIndex());
}

void RoutePanel::restore(const QSettings& settings) {
  routes_->restore(settings);
  calls_->restore(settings);
  saved_->restore(settings);
  grouping_->setCurrentIndex(settings.value("routes/grouping", 0).toInt());
}

}  // namespace attn::ui
