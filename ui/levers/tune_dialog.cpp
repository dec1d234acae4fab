// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/levers/tune_dialog.h"

#include "ui/export/diff_view.h"
#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/panel/fact_table.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// "the default stays: why" -> "The default stays: why."
QString sentence(QString clause) {
  if (!clause.isEmpty()) clause[0] = clause[0].toUpper();
  return clause + '.';
}

QString percent(double share) { return QString::number(share * 100.0, 'f', 1) + QStringLiteral(" %"); }

}  // namespace

TuneDialog::TuneDialog(LeversService& service, JobControl& jobs, const Theme& theme, QWidget* parent)
    : QDialog(parent), service_(service), jobs_(jobs) {
  setObjectName("tune_dialog");
  setWindowTitle(tr("Tune"));
  resize(940, 640);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(10);
  auto* row = new QHBoxLayout;
  row->setSpacing(20);
  auto* left = new QWidget(this);
  left->setFixedWidth(300);
  form_ = new QFormLayout(left);
  form_->setContentsMargins(0, 0, 0, 0);
  form_->setHorizontalSpacing(10);
  form_->setVerticalSpacing(8);
  form_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  make_limits(form_);
  auto* right = new QWidget(this);
  make_result(right, theme);
  row->addWidget(left);
  row->addWidget(right, 1);
  column->addLayout(row, 1);
  make_buttons();
  connect(&service_, &LeversService::changed, this, &TuneDialog::refresh);
  connect(&jobs_, &JobControl::started, this, &TuneDialog::refresh);
  connect(&jobs_, &JobControl::ended, this, &TuneDialog::refresh);
  refresh();
}

void TuneDialog::make_limits(QFormLayout* form) {
  const auto limit = [this](const char* name, double most, int decimals, const QString& none, const QString& unit) {
    auto* spin = new QDoubleSpinBox(this);
    spin->setObjectName(name);
    spin->setRange(0.0, most);
    spin->setDecimals(decimals);
    spin->setSpecialValueText(none);
    spin->setSuffix(unit);
    return spin;
  };
  cosine_ = limit("tune_cosine", 1.0, 4, {}, {});
  cosine_->setValue(TuneWish().min_cosine);
  cosine_->setSingleStep(0.005);
  cosine_->setToolTip(tr("Of the worst call, against exact attention"));
  psnr_ = limit("tune_psnr", 120.0, 1, tr("no limit"), tr(" dB"));
  psnr_->setToolTip(tr("Of the picture, against the exact one"));
  seconds_ = limit("tune_seconds", 100000.0, 3, tr("no limit"), tr(" s"));
  seconds_->setToolTip(tr("Of one generation"));
  memory_ = limit("tune_memory", 1024.0, 2, tr("no limit"), tr(" GiB"));
  memory_->setToolTip(tr("What the largest call may take on the target, tensors and kernel"));
  scope_ = new QComboBox(this);
  scope_->setObjectName("tune_scope");
  scope_->addItems({tr("one choice for all calls"), tr("the best for each kind of call")});
  repeat_ = new QSpinBox(this);
  repeat_->setObjectName("tune_repeat");
  repeat_->setRange(2, 100);
  repeat_->setValue(TuneWish().repeat);
  repeat_->setSuffix(tr(" times"));
  keep_ = new QCheckBox(tr("Keep what is set by hand"), this);
  keep_->setObjectName("tune_keep");
  keep_->setChecked(true);
  keep_->setToolTip(tr("Settings that are not at their default stay as they are"));
  among_ = new QLabel(this);
  among_->setWordWrap(true);
  set_look(among_, "dim");
  const auto add = [form](const QString& label, QWidget* field) {
    form->addRow(label, field);
    field->setAccessibleName(QString(label).remove('&'));
  };
  add(tr("Least &cosine"), cosine_);
  add(tr("Least &PSNR"), psnr_);
  add(tr("Most &seconds"), seconds_);
  add(tr("Most &memory"), memory_);
  add(tr("Pick"), scope_);
  add(tr("Repeat"), repeat_);
  form->addRow(keep_);
  form->addRow(among_);
}

void TuneDialog::make_result(QWidget* parent, const Theme& theme) {
  auto* column = new QVBoxLayout(parent);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(8);
  summary_ = new QLabel(parent);
  summary_->setObjectName("tune_summary");
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  bar_ = new QProgressBar(parent);
  bar_->setTextVisible(false);
  bar_->setRange(0, 1000);
  bar_->setAccessibleName(tr("Progress of tuning"));
  stack_ = new QStackedWidget(parent);
  stack_->addWidget(new EmptyState(tr("Nothing chosen yet"),
                                   tr("Tune measures the ticked variants, takes the fastest that keeps every limit, "
                                      "and measures it once more."),
                                   stack_));
  auto* result = new QWidget(stack_);
  auto* rows = new QVBoxLayout(result);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(8);
  change_ = new DiffView(theme, result);
  change_->setObjectName("tune_change");
  change_->setAccessibleName(tr("What would change"));
  change_->setMaximumHeight(110);
  picks_ = new FactTable(theme, {tr("Call"), tr("Backend"), tr("Times"), tr("Why")}, result);
  picks_->setObjectName("tune_picks");
  refused_ = new FactTable(theme, {tr("Faster, but not chosen; and what was left alone")}, result);
  refused_->setObjectName("tune_refused");
  refused_->limit_height(130);
  rows->addWidget(change_);
  rows->addWidget(picks_, 1);
  rows->addWidget(refused_);
  stack_->addWidget(result);
  column->addWidget(summary_);
  column->addWidget(bar_);
  column->addWidget(stack_, 1);
}

void TuneDialog::make_buttons() {
  const auto add = [this](QHBoxLayout* row, const char* name, const QString& text, const QString& tip) {
    auto* made = new QPushButton(text, this);
    made->setObjectName(name);
    made->setToolTip(tip);
    made->setAutoDefault(false);
    row->addWidget(made);
    return made;
  };
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  run_ = add(row, "tune_run", tr("Tune"), tr("Measures and chooses, as a job"));
  run_->setDefault(true);
  stop_ = add(row, "tune_stop", tr("Stop"), tr("Stop soon; there is no choice then"));
  row->addStretch(1);
  undo_ = add(row, "tune_undo", tr("Undo"), tr("The settings as they were before"));
  QPushButton* close = add(row, "tune_close", tr("Close"), {});
  apply_ = add(row, "tune_apply", tr("Apply"), tr("Takes the choice as the window's settings"));
  set_look(apply_, "primary");
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  connect(run_, &QPushButton::clicked, this, &TuneDialog::run);
  connect(stop_, &QPushButton::clicked, this, [this] { jobs_.stop(); });
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(apply_, &QPushButton::clicked, this, [this] { service_.apply_tune(); });
  connect(undo_, &QPushButton::clicked, this, [this] { service_.undo_tune(); });
}

void TuneDialog::offer(const QStringList& variants) {
  variants_ = variants;
  among_->setText(tr("Chooses among %1 with a tick on the page.").arg(counted(variants.size(), tr("variant"))));
  refresh();
}

TuneWish TuneDialog::wish() const {
  TuneWish wish;
  wish.min_cosine = cosine_->value();
  if (psnr_->value() > 0.0) wish.min_psnr = psnr_->value();
  if (seconds_->value() > 0.0) wish.max_seconds = seconds_->value();
  if (memory_->value() > 0.0) wish.max_memory = static_cast<qint64>(memory_->value() * kGiB);
  wish.by_route = scope_->currentIndex() == 1;
  wish.keep_what_is_set = keep_->isChecked();
  wish.repeat = repeat_->value();
  wish.variants = variants_;
  return wish;
}

void TuneDialog::run() {
  const Expected<void> started = service_.tune(wish());
  if (!started) say(text_of(started.error()), "bad");
}

void TuneDialog::refresh() {
  const LeversState& state = service_.state();
  const TuneFacts& tune = state.tune;
  const bool running = tune.phase == LeverPhase::running;
  const bool chosen = !tune.chosen.isEmpty();
  form_->setRowVisible(psnr_, state.draws);
  run_->setEnabled(!jobs_.running() && !variants_.isEmpty());
  stop_->setEnabled(running);
  apply_->setEnabled(chosen && tune.changed && !tune.applied && !running);
  undo_->setEnabled(tune.applied);
  const double done =
      state.total == 0 ? 0.0 : (static_cast<double>(state.done) + state.share) / static_cast<double>(state.total);
  bar_->setValue(running ? static_cast<int>(done * 1000.0) : 0);
  bar_->setVisible(running);
  stack_->setCurrentIndex(chosen ? 1 : 0);
  if (running) {
    QString words = tr("Measuring %1 · %2 of %3").arg(state.variant).arg(state.done).arg(state.total);
    if (state.seconds_left) words += tr(" · %1 left").arg(seconds_text(*state.seconds_left));
    say(words, "dim");
  } else if (tune.phase == LeverPhase::none) {
    say(tr("Precedence stays: what the model requires and what you chose go before what was measured."), "dim");
  } else if (!tune.error.isEmpty()) {
    say(tune.error, "bad");
  } else if (tune.phase == LeverPhase::stopped) {
    say(tr("Stopped: there is no choice."), "pending");
  }
  if (chosen && !running) show_result(tune);
}

void TuneDialog::show_result(const TuneFacts& tune) {
  if (tune.error.isEmpty()) {
    const QString figures = tr("saves %1 of the default's time, noise %2").arg(percent(tune.gain), percent(tune.noise));
    say(tune.applied   ? tr("Applied: %1. %2.").arg(tune.chosen, tune.reason)
        : tune.changed ? tr("Chosen: %1, %2. %3.").arg(tune.chosen, figures, tune.reason)
                       : sentence(tune.reason),
        tune.changed ? "ok" : "dim");
  }
  change_->setPlainText(tune.change.trimmed());
  change_->setVisible(!tune.change.isEmpty());
  std::vector<FactRow> rows;
  for (const TunePickFact& pick : tune.picks) {
    rows.push_back({{pick.call, Ink::dim, pick.role},
                    {pick.backend, Ink::text, pick.level, true},
                    {count_text(pick.calls), Ink::dim},
                    {pick.reason}});
  }
  picks_->set_rows(std::move(rows));
  rows.clear();
  for (const QString& refused : tune.refused) rows.push_back({{refused, Ink::pending}});
  for (const QString& kept : tune.kept) rows.push_back({{kept, Ink::dim}});
  refused_->setVisible(!rows.empty());
  refused_->set_rows(std::move(rows));
}

void TuneDialog::say(const QString& text, const char* look) {
  summary_->setText(text);
  set_look(summary_, look);
}

}  // namespace attn::ui
