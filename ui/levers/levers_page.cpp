// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/levers/levers_page.h"

#include "ui/format/format.h"
#include "ui/levers/levers_plot.h"
#include "ui/levers/tune_dialog.h"
#include "ui/panel/elided_label.h"
#include "ui/panel/empty_state.h"
#include "ui/panel/flow_layout.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QResizeEvent>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace attn::ui {

LeversPage::LeversPage(LeversService& service, JobControl& jobs, const Theme& theme, QWidget* parent)
    : QWidget(parent), service_(service), jobs_(jobs), theme_(theme), model_(theme) {
  setObjectName("levers_page");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  make_bar();
  make_body();
  connect(&service_, &LeversService::changed, this, &LeversPage::refresh);
  connect(&jobs_, &JobControl::started, this, &LeversPage::show_state);
  connect(&jobs_, &JobControl::ended, this, &LeversPage::show_state);
  connect(&model_, &LeversModel::ticks_changed, this, &LeversPage::show_state);
  connect(&service_, &LeversService::saved, this, [this](const QString& path, const QString& error) {
    refused_ = error.isEmpty() ? tr("Saved: %1").arg(path) : error;
    show_state();
  });
  refresh();
}

QPushButton* LeversPage::button(const char* name, const QString& text, const QString& tip) {
  auto* made = new QPushButton(text, this);
  made->setObjectName(name);
  made->setToolTip(tip);
  return made;
}

void LeversPage::make_bar() {
  run_ = button("levers_run", tr("Measure"),
                tr("Measures every variant with a tick against exact attention, each in a state of its own"));
  stop_ = button("levers_stop", tr("Stop"), tr("Stop soon (Esc); rows that are done stay"));
  resume_ = button("levers_resume", tr("Resume"), tr("Goes on with the variants that have no row yet"));
  ticks_ = button("levers_ticks", tr("Tick ▾"), tr("Tick or untick whole groups of variants"));
  tick_menu_ = new QMenu(ticks_);
  ticks_->setMenu(tick_menu_);
  ticks_->setStyleSheet(QStringLiteral("QPushButton::menu-indicator { image: none; width: 0; }"));
  connect(tick_menu_, &QMenu::aboutToShow, this, &LeversPage::fill_tick_menu);
  repeat_ = new QSpinBox(this);
  repeat_->setObjectName("levers_repeat");
  repeat_->setRange(2, 100);
  repeat_->setValue(3);
  repeat_->setSuffix(tr(" times"));
  repeat_->setAccessibleName(tr("Repetitions"));
  repeat_->setToolTip(tr("Repetitions after one that warms up; the median counts"));
  use_ = button("levers_use", tr("Use these settings"), tr("Takes the settings of the selected variant"));
  back_ = button("levers_back", tr("Put back"), tr("The settings as they were before"));
  tune_ = button("levers_tune", tr("Tune…"), tr("Chooses by measurement, within limits that you set"));
  save_ = button("levers_save", tr("Save…"), tr("The table as JSON, CSV or SVG"));
  state_ = new ElidedLabel(this);
  state_->setObjectName("levers_state");
  set_look(state_, "dim");
  auto* row = new QWidget(this);
  auto* flow = new FlowLayout(8, 6);
  row->setLayout(flow);
  flow->setContentsMargins(12, 6, 12, 2);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{run_, stop_, resume_, ticks_, repeat_, use_, back_, tune_, save_}) {
    flow->addWidget(widget);
  }
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->addWidget(row);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setRange(0, 1000);
  bar_->setAccessibleName(tr("Progress of the measurement"));
  auto* bar_row = new QHBoxLayout;
  bar_row->setContentsMargins(12, 2, 12, 4);
  bar_row->setSpacing(12);
  bar_row->addWidget(bar_, 2);
  bar_row->addWidget(state_, 3);
  column->addLayout(bar_row);
  connect(run_, &QPushButton::clicked, this, [this] { measure(false); });
  connect(resume_, &QPushButton::clicked, this, [this] { measure(true); });
  connect(stop_, &QPushButton::clicked, this, [this] { jobs_.stop(); });
  connect(use_, &QPushButton::clicked, this, [this] {
    if (const LeverFact* row_of_table = selected()) service_.use(row_of_table->name);
  });
  connect(back_, &QPushButton::clicked, this, [this] { service_.put_back(); });
  connect(tune_, &QPushButton::clicked, this, &LeversPage::open_tune);
  connect(save_, &QPushButton::clicked, this, &LeversPage::browse_save);
}

void LeversPage::make_body() {
  stack_ = new QStackedWidget(this);
  stack_->addWidget(
      new EmptyState(tr("No variants yet"), tr("Choose a model: every lever of its settings is listed here."), stack_));
  auto* both = new QSplitter(Qt::Horizontal, stack_);
  both->setHandleWidth(1);
  both->setChildrenCollapsible(false);
  auto* left = new QWidget(both);
  make_table(left);
  plot_ = new LeversPlot(theme_, both);
  both->addWidget(left);
  both->addWidget(plot_);
  both->setStretchFactor(0, 3);
  both->setStretchFactor(1, 2);
  both->setSizes({620, 380});
  stack_->addWidget(both);
  stack_->setMinimumHeight(90);  // a heading and two rows: the words of the empty page may be cut in a small window
  static_cast<QVBoxLayout*>(layout())->addWidget(stack_, 1);
  connect(plot_, &LeversPlot::chosen, this, [this](const QString& name) {
    const int row = model_.row_of(name);
    if (row < 0) return;
    table_->selectionModel()->setCurrentIndex(model_.index(row, 0),
                                              QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    table_->scrollTo(model_.index(row, 0));
  });
}

void LeversPage::make_table(QWidget* parent) {
  auto* column = new QVBoxLayout(parent);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  table_ = new QTableView(parent);
  table_->setObjectName("levers_table");
  table_->setAccessibleName(tr("Variants"));
  table_->setModel(&model_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setShowGrid(false);
  table_->setTabKeyNavigation(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(24);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setMinimumSectionSize(56);
  table_->horizontalHeader()->setStretchLastSection(true);
  // Sentences span the figures' columns, so contents do not tell how wide those have to be.
  for (const auto& [shown, width] :
       {std::pair{LeversModel::variant, 152}, std::pair{LeversModel::seconds, 116}, std::pair{LeversModel::speedup, 70},
        std::pair{LeversModel::memory, 72}, std::pair{LeversModel::psnr, 70}, std::pair{LeversModel::ssim, 62},
        std::pair{LeversModel::relative_l1, 74}}) {
    table_->setColumnWidth(shown, width);
  }
  detail_ = new QLabel(parent);
  detail_->setObjectName("levers_detail");
  detail_->setWordWrap(true);
  detail_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  detail_->setContentsMargins(12, 5, 12, 6);
  set_look(detail_, "dim");
  column->addWidget(table_, 1);
  column->addWidget(detail_);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    show_detail();
    const LeverFact* row = selected();
    plot_->select(row == nullptr ? QString() : row->name);
    show_state();
  });
}

void LeversPage::fill_tick_menu() {
  tick_menu_->clear();
  const auto add = [this](const QString& text, const QString& group, bool on) {
    connect(tick_menu_->addAction(text), &QAction::triggered, this, [this, group, on] { model_.tick(group, on); });
  };
  add(tr("All"), {}, true);
  add(tr("None"), {}, false);
  tick_menu_->addSeparator();
  QStringList groups;
  for (const LeverFact& row : model_.rows()) {
    if (row.group != "baseline" && !groups.contains(row.group)) groups << row.group;
  }
  for (const QString& group : groups) add(tr("Tick %1").arg(group), group, true);
  tick_menu_->addSeparator();
  for (const QString& group : groups) add(tr("Untick %1").arg(group), group, false);
}

const LeverFact* LeversPage::selected() const {
  const QModelIndexList chosen = table_->selectionModel()->selectedRows();
  return chosen.isEmpty() ? nullptr : &model_.rows()[static_cast<std::size_t>(chosen.front().row())];
}

void LeversPage::measure(bool resume) {
  const Expected<void> started = service_.measure(model_.ticked(), repeat_->value(), resume);
  refused_ = started ? QString() : text_of(started.error());
  show_state();
}

void LeversPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  // In little room the rows matter more; their tooltips say the same.
  constexpr int kRoomForBoth = 260;
  detail_->setVisible(height() >= kRoomForBoth);
}

TuneDialog* LeversPage::open_tune() {
  if (dialog_ == nullptr) dialog_ = new TuneDialog(service_, jobs_, theme_, window());
  dialog_->offer(model_.ticked());
  dialog_->show();
  dialog_->raise();
  dialog_->activateWindow();
  return dialog_;
}

void LeversPage::browse_save() {
  auto* dialog = new QFileDialog(this, tr("Save the measurements"), "levers.json",
                                 tr("Table (*.json);;CSV (*.csv);;Plot (*.svg)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  connect(dialog, &QFileDialog::fileSelected, this, &LeversPage::save_to);
  dialog->open();
}

void LeversPage::save_to(const QString& path) { service_.save(path); }

void LeversPage::refresh() {
  const LeversState& state = service_.state();
  const LeverFact* before = selected();
  const QString name = before == nullptr ? QString() : before->name;
  model_.set_rows(state.rows);
  table_->setColumnHidden(LeversModel::psnr, !state.draws);
  table_->setColumnHidden(LeversModel::ssim, !state.draws);
  // What has no figures says why in their room.
  for (int i = 0; i < model_.rowCount(); ++i) {
    const LeverFact::State row = model_.rows()[static_cast<std::size_t>(i)].state;
    const bool said = row != LeverFact::State::measured && row != LeverFact::State::waiting;
    const int span = said ? LeversModel::kColumns - LeversModel::seconds : 1;
    if (table_->columnSpan(i, LeversModel::seconds) != span) table_->setSpan(i, LeversModel::seconds, 1, span);
  }
  plot_->set_rows(state.rows, state.draws);
  stack_->setCurrentIndex(state.rows.empty() ? 0 : 1);
  if (!name.isEmpty() && selected() == nullptr && model_.row_of(name) >= 0) table_->selectRow(model_.row_of(name));
  show_detail();
  show_state();
  emit facts_changed(facts());
}

QString LeversPage::facts() const {
  const LeversState& state = service_.state();
  int measured = 0;
  for (const LeverFact& row : state.rows) measured += row.state == LeverFact::State::measured ? 1 : 0;
  if (state.rows.empty()) return {};
  return measured == 0 ? tr("%1 · %2").arg(state.job, counted(static_cast<qint64>(state.rows.size()), tr("variant")))
                       : tr("%1 · %2 of %3 measured").arg(state.job).arg(measured).arg(state.rows.size());
}

void LeversPage::show_state() {
  const LeversState& state = service_.state();
  const bool busy = jobs_.running();
  const bool mine = state.phase == LeverPhase::running;
  const LeverFact* row = selected();
  run_->setEnabled(!busy && !model_.ticked().isEmpty());
  stop_->setEnabled(busy && mine);
  resume_->setEnabled(!busy && state.can_resume);
  ticks_->setEnabled(!mine);
  repeat_->setEnabled(!mine);
  use_->setEnabled(row != nullptr && row->state != LeverFact::State::failed);
  back_->setEnabled(!state.used.isEmpty());
  bool any = false;
  for (const LeverFact& one : state.rows) any |= one.state == LeverFact::State::measured;
  save_->setEnabled(any && !mine);
  const double done =
      state.total == 0 ? 0.0 : (static_cast<double>(state.done) + state.share) / static_cast<double>(state.total);
  bar_->setValue(mine ? static_cast<int>(done * 1000.0) : any ? 1000 : 0);

  QString words = tr("%1 ticked.").arg(counted(model_.ticked().size(), tr("variant")));
  const char* look = "dim";
  if (mine) {
    words = tr("%1 of %2 · %3").arg(state.done).arg(state.total).arg(state.variant);
    if (state.seconds_left) words += tr(" · %1 left").arg(seconds_text(*state.seconds_left));
  } else if (!refused_.isEmpty()) {
    words = refused_;
    look = refused_.startsWith(tr("Saved")) ? "ok" : "bad";
  } else if (!state.error.isEmpty()) {
    words = state.error;
    look = "bad";
  } else if (!state.used.isEmpty()) {
    words = tr("The settings of %1 are in use.").arg(state.used);
    look = "ok";
  } else if (!state.opened.isEmpty()) {
    words = tr("Opened: %1.").arg(state.opened);
  } else if (state.stale) {
    words = tr("Measured with other settings than the present ones.");
    look = "pending";
  } else if (state.phase == LeverPhase::stopped) {
    words = tr("Stopped; what is done stays.");
  }
  state_->setText(words);
  if (state_->property("look").toString() != QLatin1String(look)) set_look(state_, look);
}

void LeversPage::show_detail() {
  const LeverFact* row = selected();
  if (row == nullptr) {
    detail_->setText(tr("Select a variant, here or in the plot: its chain, its errors by role and its settings."));
    return;
  }
  QStringList lines{row->chain.isEmpty() ? row->what : tr("%1 · chain %2").arg(row->what, row->chain)};
  if (row->host_bytes) lines.back() += tr(" · took %1 of this host").arg(bytes_text(*row->host_bytes));
  if (!row->roles.empty()) lines << role_lines(*row);
  if (!row->reason.isEmpty()) lines << row->reason;
  lines << row->notes;
  detail_->setText(lines.join('\n'));
}

}  // namespace attn::ui
