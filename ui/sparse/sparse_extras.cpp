// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/sparse_extras.h"

#include "ui/format/format.h"
#include "ui/sparse/exclusions_row.h"
#include "ui/sparse/schedule_plot.h"
#include "ui/sparse/skip_reasons.h"

#include <QLabel>
#include <algorithm>

namespace attn::ui {

namespace {

QLabel* note(const char* name, const char* look, QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  // Under the option's name, behind the two marks.
  label->setContentsMargins(26, 0, 12, 4);
  set_look(label, look);
  return label;
}

QString density_text(double density) { return QString::number(density, 'f', 2); }

}  // namespace

QString keep_text(double share) {
  return SparseExtras::tr("keep %1 (skip %2)").arg(percent_of(share), percent_of(std::max(0.0, 1.0 - share)));
}

SparseExtras::SparseExtras(SparseContext& context, const Theme& theme, QWidget* parent)
    : QObject(parent), context_(context), theme_(theme) {
  headline_ = note("sparse_headline", "dim", parent);
  headline_->setContentsMargins(12, 0, 12, 4);
  density_ = note("sparse_density", "dim", parent);
  density_->setToolTip(
      tr("Density is the share of all tiles that is computed: the budget of the candidates, and the\n"
         "pinned tiles and the diagonal, which are always kept."));
  schedule_ = new SchedulePlot(theme, parent);
  schedule_->setContentsMargins(0, 0, 0, 0);
  connect(&context_, &SparseContext::changed, this, &SparseExtras::refresh);
  refresh();
}

QWidget* SparseExtras::headline() const { return headline_; }
QWidget* SparseExtras::density() const { return density_; }
QWidget* SparseExtras::schedule() const { return schedule_; }

void SparseExtras::serve(ExclusionsRow* row) {
  exclusions_ = row;
  refresh();
}

SparseOptions SparseExtras::options() const {
  SparseOptions options = context_.options();
  if (preview_) options.budget = *preview_ / 100.0;
  return options;
}

void SparseExtras::preview_budget(double percent) {
  preview_ = percent;
  show_density();
  show_schedule();
}

void SparseExtras::refresh() {
  preview_.reset();
  show_headline();
  show_density();
  show_schedule();
  if (exclusions_ == nullptr) return;
  exclusions_->set_models(context_.service().models(), context_.model());
  std::int64_t excluded = 0;
  for (const trace::StageSkip& skip : skips_of(context_.run())) excluded += skip.reason == "excluded" ? skip.calls : 0;
  exclusions_->set_counts(excluded, context_.run().calls);
}

void SparseExtras::show_headline() {
  const SparseServed served = context_.service().served();
  // The label's own wish counts, not what a search has hidden.
  const bool wanted = served.on && served.calls > 0;
  if (headline_->property("wanted") != wanted) {
    headline_->setProperty("wanted", wanted);
    headline_->setVisible(wanted);
  }
  const QString count = tr("%1 of %2").arg(count_text(served.served), counted(served.calls, tr("call")));
  if (served.served > 0) {
    headline_->setText(tr("Sparse served %1.").arg(count));
    set_look(headline_, "dim");
    return;
  }
  const QString dense = dense_reason(context_.run());
  headline_->setText(tr("⚠ Sparse is on but served %1: %2.").arg(count, dense.isEmpty() ? served.reason : dense));
  set_look(headline_, "pending");
}

void SparseExtras::show_density() {
  const SparseOptions options = this->options();
  QString text = keep_text(options.budget);
  if (const trace::RouteRow* route = context_.eligible_route()) {
    const auto tokens = count_text(route->id.query.size[2]);
    const auto steps = static_cast<std::int32_t>(context_.facts().steps);
    const StageForecast middle = context_.forecast_of(*route, options, steps / 2);
    const StageForecast ends = context_.forecast_of(*route, options, 0);
    if (middle.selects) {
      text += tr(" · density %1\nat %2 tokens").arg(density_text(middle.density), tokens);
      if (ends.density != middle.density) text += tr(", %1 in the dense steps").arg(density_text(ends.density));
    } else {
      text += tr("\n%1 tokens stay dense: %2").arg(tokens, middle.reason);
    }
  }
  density_->setText(text);
}

void SparseExtras::show_schedule() {
  const SparseOptions options = this->options();
  const int steps = context_.steps() > 0 ? context_.steps() : static_cast<int>(context_.facts().steps);
  schedule_->set_schedule({options.budget, options.schedule_bump, options.schedule_steps}, steps);
}

}  // namespace attn::ui
