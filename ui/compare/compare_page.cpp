// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_page.h"

#include "ui/compare/chain_diff_row.h"
#include "ui/compare/comparison_rows.h"
#include "ui/compare/comparison_text.h"
#include "ui/format/format.h"
#include "ui/panel/elided_label.h"
#include "ui/panel/fact_table.h"
#include "ui/panel/text_line.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

QString counted_tab(const QString& name, std::size_t count) {
  return count == 0 ? name : QStringLiteral("%1 %2").arg(name).arg(count);
}

}  // namespace

ComparePage::ComparePage(RunArchive& archive, const Engine& engine, const JobControl& jobs, PreviewService& pictures,
                         const Theme& theme, QWidget* parent)
    : QWidget(parent),
      archive_(archive),
      engine_(engine),
      jobs_(jobs),
      pictures_(pictures),
      theme_(theme),
      model_(archive, theme) {
  setObjectName("compare_page");
  set_look(this, "panel");
  make_actions();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_bar());
  auto* both = new QSplitter(Qt::Horizontal, this);
  both->setHandleWidth(1);
  both->setChildrenCollapsible(false);
  both->addWidget(make_runs(both));
  both->addWidget(make_pages(both));
  both->setStretchFactor(0, 2);
  both->setStretchFactor(1, 3);
  both->setSizes({380, 620});
  column->addWidget(both, 1);
  connect(&archive_, &RunArchive::changed, this, &ComparePage::refresh);
  connect(&archive_, &RunArchive::baseline_changed, this, [this] {
    say({});
    refresh();
  });
  connect(&pictures_, &PreviewService::compared, this, &ComparePage::take_picture);
  refresh();
}

void ComparePage::make_actions() {
  const auto add = [this](const char* id, const QString& text, const QString& tip, auto&& work) {
    auto* action = new QAction(text, this);
    action->setObjectName(id);
    action->setToolTip(tip);
    connect(action, &QAction::triggered, this, std::forward<decltype(work)>(work));
    actions_ << action;
    return action;
  };
  add("compare.show", tr("Compare &runs"), tr("The runs of this window, and one against the baseline"), [this] {
    emit shown_wanted();
  })->setShortcut(QKeySequence(tr("Ctrl+Shift+C")));
  keep_newest_ = add("compare.keep_baseline", tr("&Keep this run as baseline"),
                     tr("Later runs are compared with the run in view, in tables, charts and here"), [this] {
                       if (const RunValue newest = archive_.newest()) keep(newest->number);
                     });
  keep_newest_->setShortcut(QKeySequence(tr("Ctrl+K")));
  keep_selected_ = add("compare.keep_selected", tr("Keep the selected run as &baseline"),
                       tr("Runs are compared with the one that is selected in the list of runs"), [this] {
                         if (const RunValue run = chosen()) keep(run->number);
                       });
  drop_ = add("compare.drop_baseline", tr("&Drop the baseline"), tr("Nothing is compared any more"),
              [this] { archive_.drop_baseline(); });
  copy_report_ = add("compare.copy_report", tr("Copy comparison as &text"),
                     tr("The comparison as a report, to the clipboard"), [this] {
                       if (!comparison_) return;
                       QGuiApplication::clipboard()->setText(report_text(*comparison_, picture_));
                       say(tr("The report is in the clipboard."), "ok");
                     });
  copy_csv_ = add("compare.copy_csv", tr("Copy comparison as &CSV"),
                  tr("The tables of the comparison as CSV, to the clipboard"), [this] {
                    if (!comparison_) return;
                    QGuiApplication::clipboard()->setText(report_csv(*comparison_, picture_));
                    say(tr("The tables are in the clipboard."), "ok");
                  });
}

QWidget* ComparePage::make_bar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(12, 6, 12, 6);
  row->setSpacing(8);
  const auto button = [&](const char* name, const QString& text, QAction* action) {
    auto* made = new QPushButton(text, bar);
    made->setObjectName(name);
    const auto follow = [made, action] {
      made->setEnabled(action->isEnabled());
      made->setToolTip(action->toolTip());
    };
    follow();
    connect(action, &QAction::changed, made, follow);
    connect(made, &QPushButton::clicked, action, &QAction::trigger);
    row->addWidget(made);
    return made;
  };
  keep_ = button("compare_keep", tr("Keep as baseline"), keep_selected_);
  button("compare_drop", tr("Drop baseline"), drop_);
  state_ = new ElidedLabel(bar);
  state_->setObjectName("compare_state");
  row->addWidget(state_, 1);
  button("compare_copy_report", tr("Copy report"), copy_report_);
  button("compare_copy_csv", tr("Copy CSV"), copy_csv_);
  return bar;
}

QWidget* ComparePage::make_runs(QWidget* parent) {
  list_ = new QTableView(parent);
  list_->setObjectName("compare_runs");
  list_->setAccessibleName(tr("Runs of this window"));
  list_->setModel(&model_);
  list_->setSelectionBehavior(QAbstractItemView::SelectRows);
  list_->setSelectionMode(QAbstractItemView::SingleSelection);
  list_->setShowGrid(false);
  list_->setTabKeyNavigation(false);
  list_->setWordWrap(false);
  list_->setMinimumWidth(264);
  list_->verticalHeader()->hide();
  list_->verticalHeader()->setDefaultSectionSize(26);
  list_->horizontalHeader()->setHighlightSections(false);
  list_->horizontalHeader()->setSectionsClickable(false);
  list_->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->viewport()->installEventFilter(this);
  for (const auto& [column, width] : {std::pair{RunListModel::run, 92}, std::pair{RunListModel::model, 100},
                                      std::pair{RunListModel::chain, 86}, std::pair{RunListModel::ended, 66}}) {
    list_->setColumnWidth(column, width);
  }
  connect(list_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    if (filling_) return;
    const QModelIndexList rows = list_->selectionModel()->selectedRows();
    follows_ = rows.isEmpty() || rows.front().row() == 0;
    say({});
    show_comparison();
  });
  connect(list_, &QTableView::doubleClicked, keep_selected_, &QAction::trigger);
  return list_;
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == list_->viewport()) fit_runs();
  return QWidget::eventFilter(watched, event);
}

void ComparePage::fit_runs() {
  // Chain and result are what a run is looked for by; what its tooltip says too gives way to them.
  constexpr int kRoomForAll = 460;
  constexpr int kRoomForModel = 330;
  const int room = list_->viewport()->width();
  const std::deque<RunValue>& runs = archive_.runs();
  const bool several =
      std::any_of(runs.begin(), runs.end(), [&](const RunValue& run) { return run->model != runs.front()->model; });
  list_->setColumnHidden(RunListModel::ended, room < kRoomForAll);
  list_->setColumnHidden(RunListModel::model, room < (several ? kRoomForModel : kRoomForAll));
  list_->setColumnWidth(RunListModel::chain, std::clamp(room / 4, 72, 140));
  int rest = room;
  for (const int column : {RunListModel::run, RunListModel::model, RunListModel::chain, RunListModel::ended}) {
    if (!list_->isColumnHidden(column)) rest -= list_->columnWidth(column);
  }
  list_->setColumnWidth(RunListModel::outcome, std::max(rest, 60));
}

QWidget* ComparePage::make_pages(QWidget* parent) {
  stack_ = new QStackedWidget(parent);
  auto* empty = new QWidget(stack_);
  auto* empty_column = new QVBoxLayout(empty);
  empty_column->setContentsMargins(24, 16, 24, 16);
  empty_column->setSpacing(4);
  empty_headline_ = text_line("compare_headline", "title", empty);
  empty_advice_ = text_line("compare_advice", "dim", empty);
  empty_column->addStretch(2);
  for (QLabel* label : {empty_headline_, empty_advice_}) {
    label->setAlignment(Qt::AlignCenter);
    empty_column->addWidget(label);
  }
  empty_column->addStretch(3);
  stack_->addWidget(empty);

  auto* body = new QWidget(stack_);
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tabs_ = new QTabBar(body);
  tabs_->setObjectName("compare_tabs");
  tabs_->setAccessibleName(tr("Parts of the comparison"));
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  pages_ = new QStackedWidget(body);
  const auto page = [this](QWidget* widget) {
    tabs_->addTab(QString());
    pages_->addWidget(widget);
  };
  page(make_summary(pages_));
  settings_ = new FactTable(theme_, {tr("Setting"), tr("Then"), tr("Now")}, pages_);
  settings_->setObjectName("compare_settings");
  page(settings_);
  moved_ = new FactTable(theme_, moved_headings(), pages_);
  moved_->setObjectName("compare_moved");
  page(moved_);
  parts_ = new FactTable(theme_, part_headings(), pages_);
  parts_->setObjectName("compare_parts");
  page(parts_);
  column->addWidget(tabs_);
  column->addWidget(pages_, 1);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  stack_->addWidget(body);
  return stack_;
}

QWidget* ComparePage::make_summary(QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setAccessibleName(tr("Summary of the comparison"));
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(area);
  set_look(page, "panel");
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(12, 10, 12, 10);
  column->setSpacing(8);
  titles_ = text_line("compare_titles", "", page);
  sentence_ = text_line("compare_sentence", "dim", page);
  chain_ = new ChainDiffRow(engine_.registry(), theme_, page);
  totals_ = new FactTable(theme_, total_headings(), page);
  totals_->setObjectName("compare_totals");
  totals_->show_all_rows();
  for (QWidget* widget : std::initializer_list<QWidget*>{titles_, sentence_, chain_, totals_}) {
    column->addWidget(widget);
  }
  column->addStretch(1);
  area->setWidget(page);
  return area;
}

RunValue ComparePage::chosen() const {
  const QModelIndexList rows = list_->selectionModel()->selectedRows();
  return rows.isEmpty() ? nullptr : archive_.find(model_.number_at(rows.front().row()));
}

void ComparePage::keep(int number) {
  const Expected<void> kept = archive_.keep(number);
  if (kept) return;
  say(text_of(kept.error()), "bad");
  emit shown_wanted();
}

void ComparePage::refresh() {
  fit_runs();
  if (follows_ && model_.rowCount() > 0) {
    filling_ = true;
    list_->selectRow(0);
    filling_ = false;
  }
  show_comparison();
  emit facts_changed(facts());
}

QString ComparePage::facts() const {
  if (archive_.runs().empty()) return {};
  const QString runs = counted(static_cast<qint64>(archive_.runs().size()), tr("run"));
  const RunValue& baseline = archive_.baseline();
  return baseline ? tr("%1 · baseline %2").arg(runs, baseline->title()) : tr("%1 · no baseline").arg(runs);
}

void ComparePage::show_comparison() {
  const RunValue run = chosen();
  const RunValue& baseline = archive_.baseline();
  keep_newest_->setEnabled(archive_.newest() != nullptr);
  keep_selected_->setEnabled(run != nullptr && run != baseline);
  drop_->setEnabled(baseline != nullptr);
  const bool both = run && baseline && run != baseline;
  comparison_.reset();
  if (both) comparison_ = compare_runs(*baseline, *run, engine_.specs(), jobs_.models());
  copy_report_->setEnabled(both);
  copy_csv_->setEnabled(both);
  stack_->setCurrentIndex(both ? 1 : 0);
  if (!both) {
    picture_.reset();
    pictures_of_ = {0, 0};
    return show_empty();
  }
  show_picture();
  settings_->set_rows(setting_rows(*comparison_));
  moved_->set_rows(moved_rows(*comparison_));
  parts_->set_rows(part_rows(*comparison_));
  tabs_->setTabText(0, tr("Summary"));
  tabs_->setTabText(1, counted_tab(tr("Settings"), comparison_->settings.size()));
  tabs_->setTabText(2, counted_tab(tr("Moved"), comparison_->moved.size()));
  tabs_->setTabText(3, tr("Times"));
  show_summary();
}

void ComparePage::show_summary() {
  const RunValue run = chosen();
  const RunValue& baseline = archive_.baseline();
  // A number and its unit stay in one line.
  const auto unbroken = [](const ArchivedRun& one) {
    return one.title().replace(one.outcome(), one.outcome().replace(' ', QChar::Nbsp)).toHtmlEscaped();
  };
  titles_->setText(tr("<b>%1</b><br>against baseline %2").arg(unbroken(*run), unbroken(*baseline)));
  QStringList lines{comparison_->sentence()};
  if (!comparison_->part.isEmpty()) lines.prepend(comparison_->part);
  if (const QString reason = untimed_reason(comparison_->total); !reason.isEmpty()) lines << reason;
  sentence_->setText(lines.join('\n'));
  chain_->show_chains(*comparison_, baseline->trace, run->trace);
  totals_->set_rows(total_rows(*comparison_, *baseline, *run, picture_));
}

void ComparePage::show_picture() {
  const RunValue run = chosen();
  const RunValue& baseline = archive_.baseline();
  const std::pair wanted{baseline->number, run->number};
  if (wanted == pictures_of_) return;
  picture_.reset();
  pictures_of_ = wanted;
  if (baseline->picture.is_there() && run->picture.is_there()) {
    pictures_.compare(baseline->picture, run->picture, this);
  }
}

void ComparePage::take_picture(const PictureComparison& comparison) {
  if (comparison.asker != this || !comparison_) return;
  picture_ = comparison;
  show_summary();
}

void ComparePage::show_empty() {
  if (archive_.runs().empty()) {
    empty_headline_->setText(tr("No runs yet"));
    empty_advice_->setText(
        tr("Press Run: every run that ends is kept here with its routes, times and settings, so that another can be "
           "compared with it."));
  } else if (!archive_.baseline()) {
    empty_headline_->setText(tr("No baseline yet"));
    empty_advice_->setText(
        tr("Choose a run that finished and press Keep as baseline. The runs after it are compared with it: here, in "
           "the route table and in the chart per step."));
  } else {
    empty_headline_->setText(tr("This run is the baseline"));
    empty_advice_->setText(tr("Change something and run again, or choose another run in the list."));
  }
}

void ComparePage::say(const QString& text, const char* look) {
  state_->setText(text);
  if (state_->property("look").toString() != QLatin1String(look)) set_look(state_, look);
}

}  // namespace attn::ui
