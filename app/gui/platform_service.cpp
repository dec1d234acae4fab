// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/platform_service.h"

#include "app/gui/repeat_job.h"
#include "app/jobs/profile/math_forecast.h"
#include "ui/format/format.h"

#include <algorithm>

namespace attn::app {

namespace {

using Fact = ui::PackageFact;

QString place_of(const Quarantined& one) {
  QString place = ui::text_of(one.platform);
  if (one.capability) place += QStringLiteral(" sm_%1").arg(*one.capability);
  if (!one.gfx.empty()) place += ' ' + ui::text_of(one.gfx);
  return place;
}

Fact::State state_of(PackageKnown known) {
  switch (known) {
    case PackageKnown::works:
      return Fact::State::works;
    case PackageKnown::fails:
      return Fact::State::fails;
    case PackageKnown::not_installed:
      return Fact::State::not_installed;
    case PackageKnown::unknown:
      break;
  }
  return Fact::State::unknown;
}

/// What somebody said of a machine that is not here.
std::vector<KernelRow> stated_rows(std::vector<KernelRow> rows) {
  for (KernelRow& row : rows) {
    row.runs = row.kernel == "math" ? Support::supported : Support::not_supported;
    row.reason = "as stated for this target";
  }
  return rows;
}

/// The part of the state that follows the target, the settings and the workload.
void look_at(const Engine& engine, const GuiJobControl& jobs, const std::optional<ui::RunRequest>& workload,
             ui::PlatformState& state) {
  const Target target = engine.target();
  state.target = ui::text_of(target.label.empty() ? target.name : target.label);
  state.present = target.present;
  state.kernels_asked = true;
  const KernelProbe probe = probe_kernels(DType::float16, tiny_call_on(engine.registry(), target));
  state.kernels = kernel_rows(engine.values().list(keys::kernels), probe);
  state.math_only = probe.math_only();
  state.math_only_stated = target.math_only && !target.present;
  if (state.math_only_stated) {
    state.kernels = stated_rows(std::move(state.kernels));
    state.math_only = Support::supported;
  }
  for (const Quarantined& one : engine.quarantine()) {
    state.quarantine.push_back(
        {ui::text_of(one.backend), place_of(one), one.cosine, one.threshold, one.holds_on(target)});
  }
  if (!workload) return;
  const auto schedule = jobs.schedule_of(*workload);
  if (!schedule) return;
  const auto forecast = math_forecast(engine, *schedule);
  if (!forecast) return;
  state.forecast = ui::text_of(forecast->sentence(target));
  state.forecast_over = forecast->over();
}

}  // namespace

GuiPlatformService::GuiPlatformService(Engine& engine, GuiJobControl& jobs, QObject* parent)
    : ui::PlatformService(parent), engine_(engine), jobs_(jobs), postbox_(this), importer_(std::make_unique<Worker>()) {
  subscription_ = engine_.subscribe([this, address = postbox_.address()](const EngineEvent& event) {
    const bool matters = event.kind == EngineEvent::Kind::chain_rebuilt ||
                         event.kind == EngineEvent::Kind::target_changed ||
                         event.kind == EngineEvent::Kind::setting_changed;
    if (!matters) return;
    const bool other_target = event.kind == EngineEvent::Kind::target_changed;
    address.post([this, other_target] {
      if (other_target && packages_ && state_.chosen_python.isEmpty()) look_for_packages();
      link();
      look();
    });
  });
  connect(&jobs_, &ui::JobControl::ended, this, [this] {
    if (!state_.repeating) return;
    state_.repeating = false;
    emit changed();
  });
  look();
}

GuiPlatformService::~GuiPlatformService() {
  packages_stop_.request_stop();
  importer_.reset();
}

void GuiPlatformService::look() {
  const std::uint64_t number = ++newest_look_;
  worker_.post([this, number, workload = workload_, address = postbox_.address()] {
    if (number != newest_look_) return;
    ui::PlatformState seen;
    look_at(engine_, jobs_, workload, seen);
    Target target = engine_.target();
    const bool only = seen.math_only == Support::supported;
    if (target.present && target.math_only != only) {
      // The forecasts of every plan stand on this.
      target.math_only = only;
      engine_.set_target(target);
      return;  // which looks again
    }
    address.post([this, number, seen] {
      if (number != newest_look_) return;
      state_.target = seen.target;
      state_.present = seen.present;
      state_.kernels_asked = seen.kernels_asked;
      state_.kernels = seen.kernels;
      state_.math_only = seen.math_only;
      state_.math_only_stated = seen.math_only_stated;
      state_.forecast = seen.forecast;
      state_.forecast_over = seen.forecast_over;
      state_.quarantine = seen.quarantine;
      emit changed();
    });
  });
}

void GuiPlatformService::probe() {
  look();
  look_for_packages();
}

void GuiPlatformService::need_packages() {
  if (!state_.packages_asked) look_for_packages();
}

void GuiPlatformService::look_for_packages() {
  packages_stop_.request_stop();
  packages_stop_ = std::stop_source();
  state_.packages_asked = true;
  state_.packages_busy = true;
  emit changed();
  importer_->post([this, stop = packages_stop_.get_token(), python = ui::utf8_of(state_.chosen_python),
                   address = postbox_.address()] {
    if (stop.stop_requested()) return;
    const OptionList overrides = engine_.values().list(keys::overrides);
    PackageReport report = probe_target_packages(engine_.target(), overrides, python, stop);
    if (stop.stop_requested()) return;
    address.post([this, stop, made = std::move(report)]() mutable {
      if (stop.stop_requested()) return;
      packages_ = std::move(made);
      state_.packages_busy = false;
      link();
    });
  });
}

void GuiPlatformService::link() {
  const OptionList overrides = engine_.values().list(keys::overrides);
  if (packages_) packages_->link(overrides);
  for (ui::IncidentFact& incident : state_.incidents) {
    incident.enabled = std::find(overrides.begin(), overrides.end(), ui::utf8_of(incident.override)) != overrides.end();
  }
  show_packages();
}

void GuiPlatformService::show_packages() {
  if (packages_) {
    state_.python = ui::text_of(packages_->python);
    state_.packages.clear();
    for (const PackageLine& line : packages_->lines) {
      state_.packages.push_back({ui::text_of(line.package->name), ui::text_of(line.package->label),
                                 state_of(line.known), ui::text_of(line.found), ui::text_of(line.step), line.enabled});
    }
    state_.dead.clear();
    for (const DeadChoice& dead : packages_->dead) {
      state_.dead
          << tr("%1 is switched on, but nothing serves it: %2.").arg(ui::text_of(dead.label), ui::text_of(dead.reason));
    }
  }
  emit changed();
}

void GuiPlatformService::choose_python(const QString& program) {
  state_.chosen_python = program.trimmed();
  look_for_packages();
}

void GuiPlatformService::read_log(const QString& path) {
  worker_.post([this, path, address = postbox_.address()] {
    const OptionList overrides = engine_.values().list(keys::overrides);
    const auto found = log_file_incidents({path.toStdU16String()}, overrides);
    address.post([this, path, found] {
      state_.log = path;
      state_.log_error = found ? QString() : ui::text_of(found.error());
      state_.incidents.clear();
      for (const LogIncident& one : found ? *found : std::vector<LogIncident>()) {
        const PackageIncident& incident = one.incident;
        state_.incidents.push_back({ui::text_of(incident.title), ui::text_of(incident.detail),
                                    ui::text_of(incident.label), one.enabled, incident.count});
      }
      emit changed();
    });
  });
}

void GuiPlatformService::set_workload(const ui::RunRequest& request) {
  workload_ = request;
  look();
}

void GuiPlatformService::state_math_only(bool only) {
  Target target = engine_.target();
  if (target.present || target.math_only == only) return;
  target.math_only = only;
  engine_.set_target(target);
}

void GuiPlatformService::lift_quarantine(int at) {
  worker_.post([this, at] {
    Quarantine quarantine = engine_.quarantine();
    if (at < 0 || static_cast<std::size_t>(at) >= quarantine.size()) return;
    quarantine.erase(quarantine.begin() + at);
    engine_.set_quarantine(std::move(quarantine));
  });
}

Expected<void> GuiPlatformService::repeat() {
  if (!workload_) return fail("no workload is chosen");
  auto schedule = jobs_.schedule_of(*workload_);
  if (!schedule) return fail(schedule.error());
  const auto done = [this, address = postbox_.address()](const Expected<std::vector<RepeatRow>>& rows) {
    address.post([this, rows] { take_repeats(rows); });
  };
  auto started = jobs_.start(make_repeat_job(*std::move(schedule), done), {.new_run = false, .noun = tr("call")});
  if (!started) return started;
  state_.repeating = true;
  state_.repeats.clear();
  state_.repeat_error.clear();
  emit changed();
  return {};
}

void GuiPlatformService::take_repeats(const Expected<std::vector<RepeatRow>>& rows) {
  state_.repeat_error = rows ? QString() : ui::text_of(rows.error());
  for (const RepeatRow& row : rows ? *rows : std::vector<RepeatRow>()) {
    state_.repeats.push_back({ui::text_of(row.backend), ui::text_of(row.kernel), ui::text_of(row.verdict()),
                              ui::text_of(row.call), row.deterministic()});
  }
  emit changed();
}

}  // namespace attn::app
