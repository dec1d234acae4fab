// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/workbench.h"

#include "app/jobs/pipeline/shapes_model.h"
#include "app/jobs/resources.h"
#include "app/jobs/sparse/threads.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace attn::app {

namespace {

Expected<ProfileLibrary> load_library() {
  const std::filesystem::path path = resource_path("models/models.json");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail("cannot read the model profiles at " + path.string());
  return ProfileLibrary::parse(text.str(), path.string());
}

}  // namespace

Expected<std::unique_ptr<Workbench>> Workbench::open(const std::string& target, std::filesystem::path model) {
  Expected<ProfileLibrary> library = load_library();
  if (!library) return fail(library.error());
  Expected<std::vector<Target>> targets = load_targets();
  if (!targets) return fail(targets.error());
  Expected<Target> first = find_target(target);
  if (!first) return fail(first.error());
  if (model.empty()) model = ShapesModel::bundled();
  return std::unique_ptr<Workbench>(new Workbench(std::move(*library), std::move(*targets), std::move(*first), model));
}

Workbench::Workbench(ProfileLibrary library, std::vector<Target> targets, Target first,
                     const std::filesystem::path& model)
    : targets_(std::move(targets)),
      engine_(
          make_registry(), std::move(first), [this](const LogLine& line) { log_.push(line); }, on_all_threads()),
      observer_(ring_, trace::RingObserver::Data::look),
      selections_(observer_),
      collector_(ring_, {.log_routes = true,
                         .sink = [this](const LogLine& line) { log_.push(line); },
                         .on_change = [this] { trace_.announce(); },
                         .keep_calls = trace::CallLog::kDefaultCalls}),
      exports_(engine_),
      policy_(engine_),
      pictures_(engine_, model),
      jobs_(std::move(library), engine_, pictures_, selections_, collector_),
      sparse_(engine_, jobs_, collector_, selections_),
      platform_(engine_, jobs_),
      levers_(engine_, jobs_),
      presets_(engine_),
      workspace_(engine_, targets_),
      errors_(jobs_, levers_) {
  trace_.watch(&collector_);
  QObject::connect(&jobs_, &GuiJobControl::run_begins, &jobs_, [this] { selections_.clear(); });
  rebuild_watch_ = engine_.subscribe([this](const EngineEvent& event) {
    if (event.kind == EngineEvent::Kind::chain_rebuilt) collector_.reset_routes();
  });
}

Workbench::~Workbench() {
  jobs_.stop();
  trace_.watch(nullptr);
}

ui::Services Workbench::services() {
  return {engine_,   jobs_,   trace_,    targets_, exports_, log_,       sparse_,
          pictures_, policy_, platform_, levers_,  presets_, workspace_, errors_};
}

}  // namespace attn::app
