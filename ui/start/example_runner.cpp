// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/start/example_runner.h"

#include "ui/format/format.h"
#include "ui/link/engine_link.h"
#include "ui/link/settings_history.h"
#include "ui/preview/picture_form.h"
#include "ui/route_table/route_panel.h"
#include "ui/selection/selection.h"
#include "ui/workload_panel/workload_panel.h"

#include <QCoreApplication>
#include <QTimer>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kLook = 60;  ///< milliseconds, longer than between two pictures of the trace
constexpr int kMostLooks = 50;

}  // namespace

ExampleRunner::ExampleRunner(WindowState& state) : QObject(&state), state_(state) {
  connect(&state_.parts().services.jobs, &JobControl::ended, this, &ExampleRunner::take_end);
}

Expected<void> ExampleRunner::run(const QString& id) {
  const auto example =
      std::find_if(examples().begin(), examples().end(), [&](const Example& one) { return id == QString(one.id); });
  if (example == examples().end()) return fail("there is no example " + utf8_of(id));
  const WindowParts& parts = state_.parts();
  if (parts.services.jobs.running()) return fail("a job is running; stop it before an example is opened");
  ++number_;  // what an example before this one still meant to show is not wanted any more
  if (auto done = set(*example); !done) return done;
  waiting_ = example->show;
  parts.workload.run();
  if (!parts.services.jobs.running()) waiting_.reset();  // the panel says why
  return {};
}

Expected<void> ExampleRunner::set(const Example& example) {
  const WindowParts& parts = state_.parts();
  Engine& engine = parts.services.engine;
  const auto& targets = parts.services.targets.targets();
  const auto target =
      std::find_if(targets.begin(), targets.end(), [&](const Target& one) { return one.name == example.target; });
  if (*example.target != '\0' && target == targets.end()) {
    return fail("the target " + std::string(example.target) + " is not in the list of machines");
  }
  parts.history.begin(QCoreApplication::translate("Examples", example.title));
  if (target != targets.end() && engine.target().name != target->name) parts.link.set_target(*target);
  std::vector<std::pair<std::string, OptionValue>> values;
  for (const OptionSpec& spec : engine.specs()) {
    const auto own = std::find_if(example.settings.begin(), example.settings.end(),
                                  [&](const auto& one) { return one.first == spec.key; });
    values.emplace_back(spec.key, own == example.settings.end() ? spec.fallback : own->second);
  }
  const bool set = parts.link.set_all(values);
  (void)engine.set_attention({});  // no names, so none can be wrong
  parts.services.jobs.require({});
  parts.history.end();
  if (!set) return fail("the settings of the example do not suit this target");
  if (!parts.workload.choose_model(example.model))
    return fail("the model " + std::string(example.model) + " is missing");
  parts.workload.choose_work(Work::planned);
  for (const ModelInfo& model : parts.services.jobs.models()) {
    if (model.id != QString(example.model)) continue;
    for (const ModelInput& input : model.inputs) {
      const auto own = example.inputs.find(input.key);
      parts.workload.set_input(input.key, own == example.inputs.end() ? input.value : own->second);
    }
  }
  if (!example.prompt.isEmpty()) {
    PictureRequest picture = parts.services.pictures.defaults();
    picture.prompt = example.prompt;
    picture.seed = 7;
    parts.workload.form().set_request(picture);
    parts.workload.form().keep_seed();
  }
  parts.routes.filter().set_line({});
  return {};
}

void ExampleRunner::take_end(const RunEnd& end) {
  if (!waiting_) return;
  const Example::Show show = *waiting_;
  waiting_.reset();
  if (end.outcome != RunEnd::Outcome::finished) return;
  show_when_still(show, 0, kMostLooks);
}

void ExampleRunner::show_when_still(Example::Show show, std::uint64_t revision, int looks) {
  // The run's last calls reach the tables a moment after it ended.
  const std::uint64_t now = state_.parts().services.trace.snapshot().revision;
  if (now != revision && looks > 0) {
    QTimer::singleShot(kLook, this, [this, show, now, looks, number = number_] {
      if (number == number_) show_when_still(show, now, looks - 1);
    });
    return;
  }
  select(show);
  emit ready(show);
}

void ExampleRunner::select(Example::Show show) {
  const WindowParts& parts = state_.parts();
  if (show == Example::Show::picture) return;
  const trace::TraceSnapshot run = parts.services.trace.snapshot();
  const trace::RouteRow* found = nullptr;
  for (const trace::RouteRow& row : run.routes) {
    const bool fits = show == Example::Show::fallback ? is_fallback(row) : text_of(row.id.backend).endsWith("+sparse");
    // Of several fallbacks the last: the first are short sequences of a text encoder.
    if (fits) found = &row;
  }
  if (found != nullptr) parts.selection.choose(*found, nullptr);
}

}  // namespace attn::ui
