// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_desk.h"

#include "ui/compare/compare_page.h"
#include "ui/format/format.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/selection/selection.h"
#include "ui/step_chart/step_chart.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAction>

namespace attn::ui {

CompareDesk::CompareDesk(const Services& services, const Theme& theme, QWidget* page_parent)
    : QObject(page_parent),
      services_(services),
      archive_(services.engine, services.jobs, services.trace, services.pictures),
      errors_(services.engine.registry()),
      page_(new ComparePage(archive_, services.engine, services.jobs, services.pictures, theme, page_parent)),
      measure_(new QAction(tr("&Measure error of the selected route"), this)) {
  measure_->setObjectName("route.measure_error");
  measure_->setToolTip(tr("One call of the route on generated tensors: as it was served, and exactly"));
  make_run_actions();
}

QList<QAction*> CompareDesk::actions() const { return page_->actions_of_page() + QList<QAction*>{measure_}; }

void CompareDesk::serve(const Panels& panels) {
  panels_.emplace(panels);
  connect(&panels.workload, &WorkloadPanel::run_started, this, [this](const RunRequest& request) {
    archive_.begin(request);
    show_errors();
  });
  connect(&archive_, &RunArchive::baseline_changed, this, &CompareDesk::show_baseline);
  connect(&panels.preview, &PreviewPanel::baseline_kept, this, [this] {
    keeps_picture_ = true;
    archive_.keep_picture(panels_->preview.baseline());
    keeps_picture_ = false;
  });
  connect(&services_.trace, &TraceSource::changed, this, &CompareDesk::show_notes);
  connect(&services_.errors, &ErrorService::measured, this, [this](const std::vector<MeasuredRoute>& routes) {
    for (const MeasuredRoute& one : routes) errors_.add(one);
    show_errors();
  });
  connect(&panels.routes.routes(), &RouteList::error_wanted, this, &CompareDesk::measure_error);
  connect(measure_, &QAction::triggered, this, [this] {
    if (const auto& route = panels_->selection.route()) measure_error(*route);
  });
  const auto enable = [this] {
    measure_->setEnabled(panels_->selection.route().has_value() && archive_.settings_in_view() &&
                         !services_.jobs.running());
  };
  connect(&panels.selection, &Selection::changed, this, enable);
  connect(&services_.jobs, &JobControl::started, this, enable);
  connect(&services_.jobs, &JobControl::ended, this, enable);
  enable();
  show_errors();
}

void CompareDesk::make_run_actions() {
  for (int i = 0; i < kRunActions; ++i) {
    auto* action = new QAction(this);
    action->setObjectName(QStringLiteral("compare.baseline.%1").arg(i + 1));
    action->setCheckable(true);
    connect(action, &QAction::triggered, this, [this, action] {
      page_->keep(action->data().toInt());
      show_runs();  // a run that was refused is not marked
    });
    run_actions_ << action;
  }
  connect(&archive_, &RunArchive::changed, this, &CompareDesk::show_runs);
  connect(&archive_, &RunArchive::baseline_changed, this, &CompareDesk::show_runs);
  show_runs();
}

void CompareDesk::show_runs() {
  const std::deque<RunValue>& runs = archive_.runs();
  for (int i = 0; i < kRunActions; ++i) {
    QAction* action = run_actions_[i];
    const bool used = i < static_cast<int>(runs.size());
    action->setVisible(used || i == 0);
    action->setEnabled(used);
    action->setChecked(false);
    if (!used) {
      action->setText(tr("No run has ended yet"));
      continue;
    }
    const ArchivedRun& run = *runs[runs.size() - 1 - static_cast<std::size_t>(i)];
    action->setText(tr("Baseline %1").arg(run.title().replace('&', "&&")));
    action->setData(run.number);
    action->setChecked(archive_.baseline() && archive_.baseline()->number == run.number);
  }
}

void CompareDesk::show_baseline() {
  const RunValue& run = archive_.baseline();
  const QString name = run ? QStringLiteral("#%1").arg(run->number) : QString();
  panels_->routes.routes().set_baseline(run ? std::make_shared<const BaselineRoutes>(run->trace, name) : nullptr);
  panels_->steps.set_baseline(run ? &run->trace : nullptr, name);
  // A picture that was kept from a file has no run: it stays what the next picture is compared with.
  if (!keeps_picture_) panels_->preview.show_baseline(run ? run->picture : MadePicture());
  show_notes();
}

void CompareDesk::show_notes() {
  const RouteModel& model = panels_->routes.model();
  const BaselineRoutes* baseline = model.baseline();
  panels_->timeline.set_note(
      baseline == nullptr ? QString() : tr("against %1: %2").arg(baseline->name, model.against().sentence()));
}

void CompareDesk::measure_error(const trace::RouteRow& route) {
  const auto& settings = archive_.settings_in_view();
  if (!settings) return;
  const Expected<void> started = services_.errors.measure(route, *settings);
  if (!started) panels_->workload.say_problem(text_of(started.error()));
}

void CompareDesk::show_errors() {
  panels_->routes.routes().set_errors([this](const trace::RouteRow& route) -> std::optional<RouteModel::RouteError> {
    const auto& settings = archive_.settings_in_view();
    const ErrorBook::Entry* entry = errors_.empty() || !settings ? nullptr : errors_.find(route, *settings);
    if (entry == nullptr) return std::nullopt;
    return RouteModel::RouteError{entry->relative_l1, tr("Relative L1 %1, cosine %2 against exact attention, %3.")
                                                          .arg(QString::number(entry->relative_l1, 'g', 4),
                                                               QString::number(entry->cosine, 'f', 6), entry->note)};
  });
}

}  // namespace attn::ui
