// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/sweep_page.h"

#include "ui/format/format.h"
#include "ui/panel/elided_label.h"
#include "ui/panel/empty_state.h"
#include "ui/sparse/sweep_plot.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace attn::ui {

SweepPage::SweepPage(SparseContext& context, JobControl& jobs, const Theme& theme, QWidget* parent)
    : QWidget(parent), context_(context), jobs_(jobs), theme_(theme) {
  setObjectName("sweep_page");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(12, 6, 12, 4);
  bar->setSpacing(8);
  run_ = new QPushButton(tr("Run sweep"), this);
  run_->setObjectName("sweep_run");
  run_->setToolTip(
      tr("Generates tensors of the route's shapes, computes the dense result and the sparse one for every budget\n"
         "on the same tensors, and beside each a static band of the same density (radial)."));
  stop_ = new QPushButton(tr("Stop"), this);
  stop_->setObjectName("sweep_stop");
  stop_->setToolTip(tr("Stop between two measurements (Esc)"));
  state_ = new ElidedLabel(this);
  state_->setObjectName("sweep_state");
  set_look(state_, "dim");
  bar->addWidget(run_);
  bar->addWidget(stop_);
  bar->addWidget(state_, 1);
  column->addLayout(bar);
  bar_ = new QProgressBar(this);
  bar_->setTextVisible(false);
  bar_->setAccessibleName(tr("Progress of the sweep"));
  auto* bar_row = new QHBoxLayout;
  bar_row->setContentsMargins(12, 0, 12, 2);
  bar_row->addWidget(bar_);
  column->addLayout(bar_row);
  notes_ = new QLabel(this);
  notes_->setObjectName("sweep_notes");
  notes_->setWordWrap(true);
  notes_->setContentsMargins(12, 0, 12, 2);
  set_look(notes_, "pending");
  column->addWidget(notes_);

  stack_ = new QStackedWidget(this);
  stack_->addWidget(
      new EmptyState(tr("No sweep yet"),
                     tr("Select a self attention of the denoiser and run a sweep: how far the sparse result is "
                        "from the dense one and how long it takes, for budgets from 5 to 100 %."),
                     stack_));
  auto* both = new QSplitter(Qt::Horizontal, stack_);
  both->setHandleWidth(1);
  both->setChildrenCollapsible(false);
  plot_ = new SweepPlot(theme_, both);
  make_table();
  both->addWidget(plot_);
  both->addWidget(table_);
  both->setStretchFactor(0, 1);
  both->setStretchFactor(1, 0);
  both->setSizes({450, 535});
  stack_->addWidget(both);
  column->addWidget(stack_, 1);

  connect(run_, &QPushButton::clicked, this, &SweepPage::run);
  connect(stop_, &QPushButton::clicked, this, [this] { jobs_.stop(); });
  connect(&context_, &SparseContext::changed, this, &SweepPage::refresh);
  connect(&context_.service(), &SparseService::sweep_changed, this, &SweepPage::refresh);
  connect(&jobs_, &JobControl::started, this, &SweepPage::refresh);
  connect(&jobs_, &JobControl::ended, this, &SweepPage::refresh);
  refresh();
}

void SweepPage::make_table() {
  table_ = new QTableView(this);
  table_->setObjectName("sweep_table");
  table_->setAccessibleName(tr("Sweep"));
  table_->setModel(&model_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setTabKeyNavigation(false);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(22);
  table_->horizontalHeader()->setHighlightSections(false);
  static constexpr std::array<int, SweepModel::kColumns> kWidths{46, 72, 58, 58, 70, 74, 62, 74};
  for (int column = 0; column < SweepModel::kColumns; ++column) {
    table_->setColumnWidth(column, kWidths[static_cast<std::size_t>(column)]);
  }
  table_->setMinimumWidth(180);
}

void SweepPage::run() {
  const trace::RouteRow* route = context_.eligible_route();
  if (route == nullptr || jobs_.running()) return;
  const Expected<void> started = context_.service().sweep(*route, context_.options().head_shared);
  refused_ = started ? QString() : text_of(started.error());
  refresh();
}

QString SweepPage::facts() const {
  const SweepState& sweep = context_.service().sweep_state();
  if (sweep.phase == SweepState::Phase::none) return {};
  return sweep.call;
}

void SweepPage::refresh() {
  const SweepState& sweep = context_.service().sweep_state();
  const bool running = sweep.phase == SweepState::Phase::running;
  run_->setEnabled(!jobs_.running() && context_.eligible_route() != nullptr);
  stop_->setEnabled(running);
  bar_->setVisible(running);
  bar_->setRange(0, static_cast<int>(sweep.total));
  bar_->setValue(static_cast<int>(sweep.done));
  notes_->setText(sweep.notes.join(' '));
  notes_->setVisible(!sweep.notes.isEmpty());
  stack_->setCurrentIndex(sweep.adaptive.empty() && !running ? 0 : 1);
  model_.set_points(sweep.adaptive, sweep.radial);
  plot_->set_points(sweep.adaptive, sweep.radial, sweep.dense_seconds);
  show_state();
  emit facts_changed(facts());
}

void SweepPage::show_state() {
  const SweepState& sweep = context_.service().sweep_state();
  QStringList said;
  const char* look = "dim";
  const QString dense = sweep.dense_seconds > 0.0 ? tr("dense %1").arg(seconds_text(sweep.dense_seconds)) : QString();
  const QString who =
      sweep.backend.isEmpty() ? QString() : sweep.backend + tr(", structured tensors, times on this host");
  switch (sweep.phase) {
    case SweepState::Phase::none:
      if (const trace::RouteRow* route = context_.eligible_route()) {
        said << tr("Ready: %1 %2").arg(shape_text(route->id.query), text_of(short_name_of(route->id.dtype)));
      } else {
        said << tr("No self attention of the denoiser in the last run.");
      }
      break;
    case SweepState::Phase::running:
      said << (sweep.done > 0 ? tr("%1 of %2 measurements").arg(sweep.done).arg(sweep.total)
                              : tr("Making tensors, measuring the dense result and its attention mass…"));
      if (sweep.seconds_left && sweep.done > 0) said << tr("%1 left").arg(seconds_text(*sweep.seconds_left));
      said << dense << who;
      break;
    case SweepState::Phase::finished:
      said << sweep.call << dense << who;
      break;
    case SweepState::Phase::stopped:
      said << tr("Stopped after %1 of %2 measurements").arg(sweep.done).arg(sweep.total) << dense << who;
      look = "pending";
      break;
    case SweepState::Phase::failed:
      said << sweep.error;
      look = "bad";
      break;
  }
  if (!refused_.isEmpty()) {
    said = {refused_};
    look = "bad";
  }
  said.removeAll(QString());
  state_->setText(said.join(" · "));
  if (state_->property("look").toString() != QLatin1String(look)) set_look(state_, look);
}

}  // namespace attn::ui
