// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/pipeline_check.h"

#include "app/jobs/pipeline/shapes_job.h"
#include "backends/all.h"
#include "core/engine/engine.h"

#include <utility>

namespace attn::app {
namespace {

/// Counts calls, and those that fell back.
class Watch final : public RouteObserver {
 public:
  explicit Watch(PipelineCheck& check) : check_(check) {}
  void observe(const RouteRecord& record) noexcept override {
    ++check_.calls;
    if (record.fell_back.empty()) return;
    if (check_.fell_back++ == 0) first_ = record.fell_back;
  }
  [[nodiscard]] std::string_view first() const noexcept { return first_; }

 private:
  PipelineCheck& check_;
  std::string_view first_;
};

Expected<GenerationResult> draw(const Target& target, const OptionList& overrides, const GenerationSettings& settings,
                                RouteObserver* observer) {
  Engine engine(make_registry(), target);
  if (const auto set = engine.set(keys::overrides, overrides); !set) return fail(set.error());
  auto model = ShapesModel::load(ShapesModel::bundled());
  if (!model) return fail(model.error());
  auto job = ShapesJob::make(std::move(*model), settings);
  if (!job) return fail(job.error());
  const auto outcome = (*job)->run({engine, observer, false, {}, {}});
  if (!outcome) return fail(outcome.error());
  if (!(*job)->result()) return fail("the picture was not finished");
  return *(*job)->result();
}

}  // namespace

Expected<PipelineCheck> check_pipeline(const Target& target, const OptionList& overrides, DType dtype,
                                       std::int64_t steps) {
  GenerationSettings settings;
  settings.prompt = "a red circle and a blue square";
  settings.steps = steps;
  settings.dtype = dtype;
  PipelineCheck check;
  Watch watch(check);
  const auto drawn = draw(target, overrides, settings, &watch);
  if (!drawn) return fail(drawn.error());
  check.seconds = drawn->seconds;
  check.fell_back_first = std::string(watch.first());
  Target emulated = target;
  emulated.present = target.is_cpu();
  emulated.device.reset();
  const auto expected = draw(emulated, overrides, settings, nullptr);
  if (!expected) return fail(expected.error());
  const auto distance = distance_of(drawn->picture, expected->picture);
  if (!distance) return fail(distance.error());
  check.distance = *distance;
  return check;
}

}  // namespace attn::app
