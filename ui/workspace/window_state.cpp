// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/window_state.h"

#include "ui/control_panel/control_panel.h"
#include "ui/format/format.h"
#include "ui/link/engine_link.h"
#include "ui/link/settings_history.h"
#include "ui/preview/picture_form.h"
#include "ui/route_table/route_panel.h"
#include "ui/selection/selection.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/workspace_service.h"

#include <QComboBox>
#include <QMainWindow>
#include <QSettings>
#include <QSplitter>
#include <QTabBar>
#include <algorithm>

namespace attn::ui {

namespace {

/// Settings in memory: panels write theirs into QSettings only. Nothing can lie at this path, and what is cleared
/// before the end leaves nothing to be written.
class MemorySettings {
 public:
  MemorySettings() : settings_(QStringLiteral("/dev/null/attnscope"), QSettings::IniFormat) {}
  ~MemorySettings() { settings_.clear(); }
  MemorySettings(const MemorySettings&) = delete;
  MemorySettings& operator=(const MemorySettings&) = delete;
  QSettings* operator->() { return &settings_; }
  QSettings& operator*() { return settings_; }

 private:
  QSettings settings_;
};

/// Keys of panels that are said elsewhere in a workspace, or belong to the person and not to a workspace.
bool is_left_out(const QString& key) {
  return key.startsWith("filters/") || key.startsWith("picture/") || key == "workload/model" || key == "workload/work";
}

RunContext::State state_of(RunEnd::Outcome outcome) {
  switch (outcome) {
    case RunEnd::Outcome::finished:
      return RunContext::State::finished;
    case RunEnd::Outcome::stopped:
      return RunContext::State::stopped;
    case RunEnd::Outcome::failed:
      return RunContext::State::failed;
  }
  return RunContext::State::failed;
}

}  // namespace

WindowState::WindowState(const WindowParts& parts, QObject* parent) : QObject(parent), parts_(parts) { watch_runs(); }

void WindowState::watch_runs() {
  JobControl& jobs = parts_.services.jobs;
  connect(&jobs, &JobControl::started, this, [this] {
    const RunRequest request = parts_.workload.request();
    run_ = RunContext{RunContext::State::running, request.model, request.work};
  });
  connect(&jobs, &JobControl::progressed, this, [this](const RunProgress& progress) {
    if (!run_) return;
    run_->calls_done = progress.calls_done;
    run_->calls_total = progress.calls_total;
    run_->step = progress.step;
    run_->steps = progress.steps;
  });
  connect(&jobs, &JobControl::ended, this, [this](const RunEnd& end) {
    if (run_) run_->state = state_of(end.outcome);
  });
}

Workspace WindowState::take() const {
  Workspace out;
  out.target = text_of(parts_.services.engine.target().name);
  out.profile = parts_.services.workspace.settings_text();
  for (const std::string& name : parts_.services.jobs.required()) out.required << text_of(name);
  out.workload = parts_.workload.request();
  out.filter = parts_.routes.filter().line();
  out.layout = layout();
  out.view = view();
  out.run = run_;
  out.role = parts_.selection.role();
  out.step = parts_.selection.step();
  return out;
}

Expected<void> WindowState::check_workload(const RunRequest& request) const {
  const std::vector<ModelInfo>& models = parts_.services.jobs.models();
  const auto model =
      std::find_if(models.begin(), models.end(), [&](const auto& one) { return one.id == request.model; });
  if (model == models.end()) return fail("there is no model " + utf8_of(request.model) + " in this program's list");
  for (const auto& [key, value] : request.inputs) {
    const auto known = std::any_of(model->inputs.begin(), model->inputs.end(),
                                   [&key = key](const ModelInput& input) { return input.key == key; });
    if (!known) return fail("the model " + utf8_of(model->name) + " has no input " + utf8_of(key));
  }
  return {};
}

Expected<void> WindowState::put(const Workspace& workspace, const QString& name) {
  if (parts_.services.jobs.running()) return fail("a job is running; stop it before another workspace is opened");
  if (auto good = check_workload(workspace.workload); !good) return good;
  parts_.history.begin(name);
  const Expected<void> taken = parts_.services.workspace.take_settings(workspace.target, workspace.profile);
  if (taken) {
    std::vector<std::string> required;
    for (const QString& backend : workspace.required) required.push_back(utf8_of(backend));
    parts_.services.jobs.require(std::move(required));
  }
  parts_.history.end();
  if (!taken) return taken;
  put_view(workspace.view);
  put_workload(workspace.workload);
  parts_.routes.filter().set_line(workspace.filter);
  put_layout(workspace.layout);
  if (workspace.role && workspace.step) {
    parts_.selection.choose_step(*workspace.role, *workspace.step, nullptr);
  } else if (workspace.role) {
    parts_.selection.choose_role(*workspace.role, nullptr);
  }
  return {};
}

void WindowState::put_workload(const RunRequest& request) {
  parts_.workload.choose_model(request.model);
  parts_.workload.choose_work(request.work);
  for (const auto& [key, value] : request.inputs) parts_.workload.set_input(key, value);
  if (request.picture) parts_.workload.form().set_request(*request.picture);
}

LayoutState WindowState::layout() const {
  return {parts_.window.saveGeometry(), parts_.window.saveState(kLayoutVersion), parts_.center.saveState(),
          parts_.charts.currentIndex(), parts_.side.currentIndex()};
}

void WindowState::put_layout(const LayoutState& layout) {
  if (!layout.geometry.isEmpty()) parts_.window.restoreGeometry(layout.geometry);
  // The tabs first: choosing one may make room for it.
  parts_.charts.setCurrentIndex(std::clamp(layout.chart, 0, parts_.charts.count() - 1));
  parts_.side.setCurrentIndex(std::clamp(layout.side, 0, parts_.side.count() - 1));
  if (!layout.docks.isEmpty()) parts_.window.restoreState(layout.docks, kLayoutVersion);
  if (!layout.center.isEmpty()) parts_.center.restoreState(layout.center);
}

std::map<QString, QVariant> WindowState::view() const {
  MemorySettings kept;
  parts_.control.save(*kept);
  parts_.workload.save(*kept);
  parts_.routes.save(*kept);
  std::map<QString, QVariant> out;
  for (const QString& key : kept->allKeys()) {
    if (!is_left_out(key)) out[key] = kept->value(key);
  }
  return out;
}

void WindowState::put_view(const std::map<QString, QVariant>& view) {
  MemorySettings kept;
  for (const auto& [key, value] : view) kept->setValue(key, value);
  parts_.control.restore(*kept);
  parts_.workload.restore(*kept);
  parts_.routes.restore(*kept);
}

void WindowState::reset_view() {
  parts_.timeline.view().fit();
  parts_.routes.filter().set_line({});
  if (auto* grouping = parts_.routes.findChild<QComboBox*>("route_grouping")) grouping->setCurrentIndex(0);
  for (TableList* list :
       {static_cast<TableList*>(&parts_.routes.routes()), static_cast<TableList*>(&parts_.routes.calls())}) {
    list->view()->sortByColumn(-1, Qt::AscendingOrder);
    list->reset_columns();
  }
}

void WindowState::reset_options() {
  Engine& engine = parts_.services.engine;
  parts_.history.begin(tr("defaults of all options"));
  std::vector<std::pair<std::string, OptionValue>> defaults;
  for (const OptionSpec& spec : engine.specs()) defaults.emplace_back(spec.key, spec.fallback);
  parts_.link.set_all(defaults);
  (void)engine.set_attention({});  // no names, so none can be wrong
  parts_.services.jobs.require({});
  parts_.history.end();
}

}  // namespace attn::ui
