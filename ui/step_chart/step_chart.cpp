// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/step_chart/step_chart.h"

#include "core/sparse/schedule.h"
#include "ui/panel/empty_state.h"

#include <QStackedWidget>
#include <QVBoxLayout>

namespace attn::ui {

StepChart::StepChart(Selection& selection, const SparseContext& sparse, const Theme& theme, QWidget* parent)
    : QWidget(parent), selection_(selection), sparse_(sparse) {
  setObjectName("step_chart");
  set_look(this, "panel");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No steps yet"),
                                   tr("A run draws a bar for every denoising step, coloured by "
                                      "the backend that served it."),
                                   stack_));
  plot_ = new StepPlot(theme, stack_);
  plot_->setObjectName("step_plot");
  stack_->addWidget(plot_);
  column->addWidget(stack_, 1);
  connect(plot_, &StepPlot::chosen, this, &StepChart::choose);
  connect(&selection_, &Selection::changed, this, &StepChart::show_selection);
  connect(&sparse_, &SparseContext::changed, this, &StepChart::show_budgets);
}

void StepChart::choose(int bar) {
  const StepBar& chosen = plot_->bars().bars()[static_cast<std::size_t>(bar)];
  if (chosen.role == Role::transformer) {
    selection_.choose_step(chosen.role, chosen.step, this);
  } else {
    selection_.choose_role(chosen.role, this);
  }
  plot_->set_selected(bar);
}

void StepChart::show_selection() {
  const auto& role = selection_.role();
  const bool one_bar = role && (selection_.step() || *role != Role::transformer);
  plot_->set_selected(one_bar ? plot_->bars().find(*role, selection_.step().value_or(0)) : -1);
}

void StepChart::show_budgets() {
  const SparseOptions options = sparse_.options();
  const BudgetSchedule schedule{options.budget, options.schedule_bump, options.schedule_steps};
  const int steps = expected_steps_ > 0 ? expected_steps_ : sparse_.facts().steps;
  plot_->set_budgets(options.ask_for_stage() ? schedule.table(steps) : std::vector<double>());
}

void StepChart::expect_steps(int steps) {
  if (steps == expected_steps_) return;
  expected_steps_ = steps;
  plot_->expect(steps > 0 ? static_cast<std::size_t>(steps) + 2 : 0);  // and text encoders and VAE
  show_budgets();
}

void StepChart::set_baseline(const trace::TraceSnapshot* run, const QString& name) {
  baseline_ = run == nullptr ? StepBars() : StepBars(*run);
  baseline_name_ = name;
  show_baseline();
  show_facts();
}

void StepChart::show_baseline() {
  // Seconds beside calls would be a line that means nothing.
  const bool same_unit = plot_->bars().bars().empty() || baseline_.in_seconds() == plot_->bars().in_seconds();
  plot_->set_baseline(same_unit ? baseline_ : StepBars(), baseline_name_);
}

void StepChart::show_facts() {
  const StepBars& bars = plot_->bars();
  facts_ = bars.bars().empty()  ? QString()
           : !bars.in_seconds() ? tr("calls per step")
           : bars.scaled()      ? tr("≈ time per step, scaled from one call per route")
                                : tr("time per step");
  if (!facts_.isEmpty() && !baseline_.bars().empty() && !plot_->has_baseline()) {
    facts_ += baseline_.in_seconds() ? tr(" · the baseline %1 has times, this run has none").arg(baseline_name_)
                                     : tr(" · the baseline %1 has no times").arg(baseline_name_);
  }
  emit facts_changed(facts_);
}

void StepChart::set_run(const trace::TraceSnapshot& run) {
  StepBars bars(run);
  bars.expect(expected_steps_ > 0 ? static_cast<std::size_t>(expected_steps_) + 2 : 0);
  stack_->setCurrentIndex(bars.bars().empty() ? 0 : 1);
  if (bars.bars() == plot_->bars().bars()) return;
  plot_->set_bars(std::move(bars));
  show_baseline();
  show_facts();
  show_selection();
  show_budgets();
}

}  // namespace attn::ui
