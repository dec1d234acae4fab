// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/run_archive.h"

#include "ui/chain_bar/chain_diff.h"
#include "ui/format/format.h"

#include <QStringList>
#include <algorithm>

namespace attn::ui {

namespace {

/// Two runs are told apart by more digits than a table needs.
QString exact_seconds(double seconds) {
  return seconds >= 0.9995 && seconds < 99.95 ? QStringLiteral("%1 s").arg(seconds, 0, 'f', 2) : seconds_text(seconds);
}

bool same_image(const QImage& a, const QImage& b) { return !a.isNull() && a.cacheKey() == b.cacheKey(); }

}  // namespace

QString ArchivedRun::chain_names() const {
  QStringList names(chain.begin(), chain.end());
  if (names.size() > 1) names.removeLast();
  return names.join(", ");
}

QString ArchivedRun::outcome() const {
  if (!finished()) return where;
  if (request.picture || computes_all(request.work)) return exact_seconds(end.seconds);
  if (!time.known || trace.calls == 0) return RunArchive::tr("planned");
  return QStringLiteral("≈ ") + exact_seconds(time.seconds);
}

QString ArchivedRun::title() const {
  return QStringLiteral("#%1 %2 · %3 · %4").arg(QString::number(number), model, chain_names(), outcome());
}

std::size_t ArchivedRun::bytes() const {
  std::size_t sum = sizeof(ArchivedRun) + trace.shares.capacity() * sizeof(trace::StepShare) +
                    trace.steps.capacity() * sizeof(trace::RouteStep);
  for (const trace::RouteRow& row : trace.routes) sum += sizeof(row) + row.stage_skips.size() * 96 + 64;
  sum += settings.values.all().size() * 128;
  return sum + static_cast<std::size_t>(picture.image.sizeInBytes());
}

RunArchive::RunArchive(const Engine& engine, const JobControl& jobs, const TraceSource& trace,
                       const PreviewService& pictures, QObject* parent, std::size_t most_runs, std::size_t most_bytes)
    : QObject(parent),
      engine_(engine),
      jobs_(jobs),
      trace_(trace),
      pictures_(pictures),
      most_runs_(most_runs),
      most_bytes_(most_bytes) {
  connect(&jobs_, &JobControl::progressed, this, [this](const RunProgress& progress) { progress_ = progress; });
  connect(&jobs_, &JobControl::ended, this, &RunArchive::take_end);
}

void RunArchive::begin(const RunRequest& request) {
  ArchivedRun run;
  run.request = request;
  run.model = request.model;
  for (const ModelInfo& model : jobs_.models()) {
    if (model.id == request.model) run.model = model.name;
  }
  run.settings = settings_point(engine_, jobs_);
  run.chain = ui::chain_names(*engine_.plan());
  progress_ = {};
  in_view_ = run.settings;
  running_ = std::move(run);
}

void RunArchive::take_end(const RunEnd& end) {
  if (!running_) return;
  ArchivedRun run = *std::exchange(running_, std::nullopt);
  run.number = ++last_number_;
  run.trace = trace_.snapshot();
  run.time = CallIndex(run.trace).time();
  run.ended = QDateTime::currentDateTime();
  run.end = end;
  run.where = where_it_was(run);
  if (const PreviewFrame frame = pictures_.frame(); run.request.picture && run.finished() && frame.finished) {
    run.picture = frame.made;
  }
  runs_.push_back(std::make_shared<const ArchivedRun>(std::move(run)));
  make_room();
  emit changed();
}

QString RunArchive::where_it_was(const ArchivedRun& run) const {
  if (run.finished()) return {};
  if (run.end.outcome == RunEnd::Outcome::failed) return tr("failed: %1").arg(run.end.error);
  const auto at_step = [](int step, int steps) { return tr("stopped at step %1 of %2").arg(step).arg(steps); };
  if (run.request.picture) {
    const PreviewFrame frame = pictures_.frame();
    if (!frame.finished && frame.steps > 0) return at_step(frame.step, frame.steps);
  }
  int begun = 0;
  for (const trace::StepShare& share : run.trace.shares) {
    if (share.role == Role::transformer) begun = std::max(begun, share.step + 1);
  }
  const auto wanted = run.request.inputs.find("steps");
  const int steps = progress_.steps > 0 ? progress_.steps
                                        : (wanted == run.request.inputs.end() ? 0 : static_cast<int>(wanted->second));
  if (begun > 0 && steps > 0) return at_step(begun, steps);
  if (run.trace.calls == 0) return tr("stopped before its first call");
  return tr("stopped after %1").arg(counted(run.trace.calls, tr("call")));
}

void RunArchive::make_room() {
  const auto too_much = [this] {
    std::size_t bytes = 0;
    for (const RunValue& run : runs_) bytes += run->bytes();
    return runs_.size() > most_runs_ || bytes > most_bytes_;
  };
  while (runs_.size() > 1 && too_much()) {
    const auto goes =
        std::find_if(runs_.begin(), runs_.end() - 1, [this](const RunValue& run) { return run != baseline_; });
    if (goes == runs_.end() - 1) return;
    runs_.erase(goes);
  }
}

RunValue RunArchive::find(int number) const {
  const auto at = std::find_if(runs_.begin(), runs_.end(), [&](const RunValue& run) { return run->number == number; });
  return at == runs_.end() ? nullptr : *at;
}

QString RunArchive::problem_of(const ArchivedRun& run) {
  if (run.finished()) return {};
  return tr("Run #%1 %2, so its calls and times are those of a part: choose a run that finished as the baseline.")
      .arg(QString::number(run.number), run.where);
}

Expected<void> RunArchive::keep(int number) {
  const RunValue run = find(number);
  if (!run) return fail("run #" + std::to_string(number) + " is no longer kept; choose one of the list");
  if (const QString problem = problem_of(*run); !problem.isEmpty()) return fail(utf8_of(problem));
  if (run == baseline_) return {};
  baseline_ = run;
  emit baseline_changed();
  return {};
}

void RunArchive::keep_picture(const MadePicture& picture) {
  const auto made = [&](const RunValue& run) { return same_image(run->picture.image, picture.image); };
  const auto at = std::find_if(runs_.begin(), runs_.end(), made);
  const RunValue run = at == runs_.end() ? nullptr : *at;
  if (run == baseline_) return;
  baseline_ = run;
  emit baseline_changed();
}

void RunArchive::drop_baseline() {
  if (!baseline_) return;
  baseline_ = nullptr;
  emit baseline_changed();
}

}  // namespace attn::ui
