// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/levers_service.h"

#include "app/gui/lever_facts.h"
#include "app/gui/preview_service.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/machine.h"
#include "app/jobs/levers/plot.h"
#include "app/jobs/levers/results_file.h"
#include "ui/format/format.h"

#include <QFileInfo>
#include <algorithm>

namespace attn::app {

namespace {

bool same_workload(const ui::RunRequest& a, const ui::RunRequest& b) {
  return a.model == b.model && a.inputs == b.inputs && a.picture == b.picture;
}

/// Everything that a variant's engine holds.
Expected<void> put(Engine& engine, const SettingList& settings, const AttentionChoices& attention) {
  if (auto set = engine.set_all(settings); !set) return fail(set.error());
  return engine.set_attention(attention);
}

SettingList all_settings(const Engine& engine) {
  SettingList settings;
  const OptionValues values = engine.values();
  for (const auto& [key, value] : values.all()) settings.emplace_back(key, value);
  return settings;
}

}  // namespace

GuiLeversService::GuiLeversService(Engine& engine, GuiJobControl& jobs, QObject* parent)
    : ui::LeversService(parent), engine_(engine), jobs_(jobs), postbox_(this) {
  subscription_ = engine_.subscribe([this, address = postbox_.address()](const EngineEvent& event) {
    const bool matters = event.kind == EngineEvent::Kind::setting_changed ||
                         event.kind == EngineEvent::Kind::target_changed ||
                         event.kind == EngineEvent::Kind::attention_changed;
    if (matters) address.post([this] { refresh(); });
  });
  connect(&jobs_, &ui::JobControl::ended, this, &GuiLeversService::take_end);
}

GuiLeversService::~GuiLeversService() = default;

void GuiLeversService::set_workload(const ui::RunRequest& request) {
  if (workload_ && same_workload(*workload_, request)) return;
  workload_ = request;
  if (!measuring_) result_ = LeverResult();
  if (!measuring_) state_.opened.clear();
  state_.tune = ui::TuneFacts();
  tuned_.reset();
  state_.draws = request.model == GuiPreviewService::model_id();
  for (const ui::ModelInfo& model : jobs_.models()) {
    if (model.id == request.model) state_.job = model.name;
  }
  if (!measuring_) state_.phase = ui::LeverPhase::none;
  state_.used.clear();
  refresh();
}

void GuiLeversService::refresh() {
  const std::uint64_t number = ++newest_;
  worker_.post([this, number, draws = state_.draws, address = postbox_.address()] {
    if (number != newest_) return;
    address.post([this, number, given = Given{settings_text(engine_), all_variants(engine_, draws)}] {
      if (number == newest_) take_given(given);
    });
  });
}

void GuiLeversService::take_given(const Given& given) {
  given_ = given;
  show_rows();
}

void GuiLeversService::show_rows() {
  const bool measured = !result_.rows.empty();
  // Rows of a file are what they are; they say themselves what they were measured for.
  const bool of_file = !state_.opened.isEmpty();
  state_.stale = measured && !of_file && measured_with_ != given_.settings;
  state_.can_resume = measured && !measuring_ && !of_file && !state_.stale && result_.missing() > 0;
  state_.rows = lever_facts(given_.variants, result_, measuring_ ? state_.variant : QString());
  emit changed();
}

Expected<LeverJobFactory> GuiLeversService::factory() const {
  if (!workload_) return fail("no workload is chosen");
  if (state_.draws) return jobs_.pictures().lever_job(workload_->picture.value_or(jobs_.pictures().defaults()));
  auto schedule = jobs_.schedule_of(*workload_);
  if (!schedule) return fail(schedule.error());
  return LeverJobFactory(
      [schedule = *std::move(schedule)] { return Expected<std::unique_ptr<LeverJob>>(make_lever_job(schedule, 0)); });
}

std::string GuiLeversService::title(const char* what) const { return ui::utf8_of(state_.job) + ", " + what; }

Expected<void> GuiLeversService::measure(const QStringList& names, int repeat, bool resume) {
  auto make = factory();
  if (!make) return fail(make.error());
  LeverJobRequest request;
  request.title = title("levers");
  request.make = *std::move(make);
  request.repeat = resume ? repeat_ : repeat;
  // Rows that are there are kept only as part of the table that they were measured for.
  const QStringList asked = resume ? asked_ : names;
  for (const QString& name : asked) request.names.push_back(ui::utf8_of(name));
  if (resume) request.before = result_;
  const auto address = postbox_.address();
  request.rows = [this, address](const LeverResult& rows) { address.post([this, rows] { take_rows(rows); }); };
  request.progress = [this, address](const LeverProgress& progress) {
    address.post([this, progress] { take_progress(progress); });
  };
  const ui::LeverPhase was = state_.phase;
  measuring_ = true;
  state_.phase = ui::LeverPhase::running;
  auto started = jobs_.start(make_measure_job(std::move(request)), {.new_run = false, .noun = tr("variant")});
  if (!started) {
    measuring_ = false;
    state_.phase = was;
    return started;
  }
  if (!resume) result_ = LeverResult();
  state_.opened.clear();
  asked_ = asked;
  repeat_ = resume ? repeat_ : repeat;
  measured_with_ = given_.settings;
  measured_at_ = ui::settings_point(engine_, jobs_);
  state_.error.clear();
  state_.done = 0;
  state_.total = asked.size();
  show_rows();
  return {};
}

void GuiLeversService::take_rows(const LeverResult& rows) {
  if (!measuring_) return;
  result_ = rows;
  show_rows();
}

void GuiLeversService::take_progress(const LeverProgress& progress) {
  if (!measuring_ && !tuning_) return;
  state_.done = static_cast<qint64>(progress.done);
  state_.total = static_cast<qint64>(progress.total);
  const QString variant = ui::text_of(progress.variant);
  const bool other = variant != state_.variant;
  state_.variant = variant;
  state_.share = progress.share;
  state_.seconds_left = progress.seconds_left;
  if (other && measuring_) return show_rows();
  emit changed();
}

void GuiLeversService::take_end(const ui::RunEnd& end) {
  if (!measuring_ && !tuning_) return;
  const auto phase = end.outcome == ui::RunEnd::Outcome::finished  ? ui::LeverPhase::finished
                     : end.outcome == ui::RunEnd::Outcome::stopped ? ui::LeverPhase::stopped
                                                                   : ui::LeverPhase::failed;
  (measuring_ ? state_.phase : state_.tune.phase) = phase;
  (measuring_ ? state_.error : state_.tune.error) = end.error;
  measuring_ = false;
  tuning_ = false;
  state_.variant.clear();
  state_.seconds_left.reset();
  show_rows();
}

void GuiLeversService::use(const QString& name) {
  const auto found = std::find_if(given_.variants.begin(), given_.variants.end(),
                                  [&](const LeverVariant& one) { return ui::text_of(one.name) == name; });
  // As it was measured, where it was.
  const LeverRow* row = result_.find(ui::utf8_of(name));
  if (row == nullptr && found == given_.variants.end()) return;
  emit applying(tr("levers: %1").arg(name));
  worker_.post([this, variant = row != nullptr ? row->variant : *found, address = postbox_.address()] {
    const auto wanted = lever_engine(engine_, variant);
    Before before{all_settings(engine_), engine_.attention()};
    const Expected<void> done =
        wanted ? put(engine_, all_settings(**wanted), (*wanted)->attention()) : fail(wanted.error());
    if (done && !before_) before_ = std::move(before);
    address.post([this, name = ui::text_of(variant.name), error = done ? QString() : ui::text_of(done.error())] {
      state_.error = error;
      if (error.isEmpty()) state_.used = name;
      emit applied();
      emit changed();
    });
  });
}

void GuiLeversService::put_back() {
  if (state_.used.isEmpty()) return;
  emit applying(tr("levers: put back"));
  worker_.post([this, address = postbox_.address()] {
    const Expected<void> done = before_ ? put(engine_, before_->settings, before_->attention) : Expected<void>();
    before_.reset();
    address.post([this, error = done ? QString() : ui::text_of(done.error())] {
      state_.error = error;
      state_.used.clear();
      emit applied();
      emit changed();
    });
  });
}

void GuiLeversService::open(const QString& path) {
  worker_.post([this, path, address = postbox_.address()] {
    address.post([this, path, rows = load_levers({path.toStdU16String()})] {
      const bool busy = measuring_ || tuning_;
      state_.error = busy ? tr("Levers are being measured; stop that before a file is opened.") : QString();
      if (!busy && !rows) state_.error = ui::text_of(rows.error());
      if (state_.error.isEmpty()) {
        result_ = *rows;
        measured_with_ = rows->header.settings;
        state_.phase = ui::LeverPhase::finished;
        state_.opened =
            tr("%1: %2 on %3")
                .arg(QFileInfo(path).fileName(), ui::text_of(rows->header.job), ui::text_of(rows->header.target));
      }
      show_rows();
    });
  });
}

void GuiLeversService::save(const QString& path) {
  worker_.post([this, path, rows = result_, address = postbox_.address()] {
    const QString low = path.toLower();
    const std::string text = low.endsWith(".csv")   ? levers_csv(rows)
                             : low.endsWith(".svg") ? levers_svg(rows)
                                                    : levers_json(rows);
    const Expected<void> written = write_atomically({path.toStdU16String()}, text);
    address.post([this, path, error = written ? QString() : ui::text_of(written.error())] { emit saved(path, error); });
  });
}

Expected<void> GuiLeversService::tune(const ui::TuneWish& wish) {
  auto make = factory();
  if (!make) return fail(make.error());
  TuneJobRequest request;
  request.title = title("tuning");
  request.make = *std::move(make);
  request.keep_what_is_set = wish.keep_what_is_set;
  request.request.scope = wish.by_route ? TuneScope::route : TuneScope::chain;
  request.request.repeat = wish.repeat;
  request.request.limits.min_cosine = wish.min_cosine;
  request.request.limits.max_seconds = wish.max_seconds;
  if (wish.max_memory) request.request.limits.max_memory = *wish.max_memory;
  if (state_.draws) request.request.limits.min_psnr = wish.min_psnr;
  for (const QString& name : wish.variants) request.request.globs.push_back(ui::utf8_of(name));
  const auto address = postbox_.address();
  request.done = [this, address](const Expected<TuneResult>& result) {
    address.post([this, result] { take_tune(result); });
  };
  request.progress = [this, address](const LeverProgress& progress) {
    address.post([this, progress] { take_progress(progress); });
  };
  auto started = jobs_.start(make_tune_job(std::move(request)), {.new_run = false, .noun = tr("variant")});
  if (!started) return started;
  tuning_ = true;
  tuned_.reset();
  state_.tune = ui::TuneFacts();
  state_.tune.phase = ui::LeverPhase::running;
  emit changed();
  return {};
}

void GuiLeversService::take_tune(const Expected<TuneResult>& result) {
  if (!result || result->outcome != JobOutcome::finished) return;  // the job's end says why
  tuned_ = *result;
  const ui::LeverPhase phase = state_.tune.phase;
  state_.tune = tune_facts(*result);
  state_.tune.phase = phase;
  emit changed();
}

void GuiLeversService::apply_tune() {
  if (!tuned_) return;
  emit applying(tr("tune: %1").arg(state_.tune.chosen));
  worker_.post([this, change = tuned_->change, address = postbox_.address()] {
    const Expected<void> done = change.apply(engine_);
    address.post([this, error = done ? QString() : ui::text_of(done.error())] {
      state_.tune.error = error;
      state_.tune.applied = error.isEmpty();
      emit applied();
      emit changed();
    });
  });
}

void GuiLeversService::undo_tune() {
  if (!tuned_) return;
  emit applying(tr("tune: undo"));
  worker_.post([this, change = tuned_->change, address = postbox_.address()] {
    const Expected<void> done = change.undo(engine_);
    address.post([this, error = done ? QString() : ui::text_of(done.error())] {
      state_.tune.error = error;
      state_.tune.applied = !error.isEmpty();
      emit applied();
      emit changed();
    });
  });
}

}  // namespace attn::app
