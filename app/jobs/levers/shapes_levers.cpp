// SPDX-License-Identifier: GPL-3.0-or-later
// Levers on the bundled pipeline: whole generations by baseline and variant in turns.
#include "app/jobs/levers/bits_hash.h"
#include "app/jobs/levers/host_memory.h"
#include "app/jobs/levers/lever_measure.h"
#include "app/jobs/pipeline/picture_schedule.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/tensors/generated.h"
#include "core/call/call_text.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace attn::app {
namespace {

/// Tells routes of one generation apart, and keeps what they took.
struct RouteSum {
  LeverRoute route;
  double seconds = 0.0;
};

class RouteBook final : public RouteObserver {
 public:
  /// `exact`: computes every call once more by this router and notes the error; null: only takes the time.
  explicit RouteBook(Router* exact) : exact_(exact) {}

  void observe(const RouteRecord& record) noexcept override {
    try {
      note(record);
    } catch (const std::exception& thrown) {  // no memory for the exact result
      problem_ = thrown.what();
    }
  }

  [[nodiscard]] const std::vector<RouteSum>& sums() const noexcept { return sums_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Mean seconds of the calls with this text; 0 for none.
  [[nodiscard]] double seconds_of_call(const std::string& call) const {
    double seconds = 0.0;
    std::int64_t calls = 0;
    for (const RouteSum& sum : sums_) {
      if (sum.route.call != call) continue;
      seconds += sum.seconds;
      calls += sum.route.calls;
    }
    return calls > 0 ? seconds / static_cast<double>(calls) : 0.0;
  }

 private:
  void note(const RouteRecord& record) {
    LeverRoute route{.call = write_call({record.call, record.role, 0, 0, 0}),
                     .role = record.role,
                     .budget = record.selection != nullptr ? record.selection->budget : 1.0,
                     .backend = served_by(record.executed, record.selection != nullptr),
                     .kernel = std::string(record.variant)};
    const auto same = std::find_if(sums_.begin(), sums_.end(), [&route](const RouteSum& sum) {
      return sum.route.call == route.call && sum.route.budget == route.budget && sum.route.backend == route.backend &&
             sum.route.kernel == route.kernel;
    });
    RouteSum& sum = same == sums_.end() ? sums_.emplace_back(RouteSum{std::move(route), 0.0}) : *same;
    ++sum.route.calls;
    sum.seconds += static_cast<double>(record.end_ns - record.begin_ns) * 1e-9;
    if (exact_ == nullptr) return;
    const TensorView& output = record.call.output;
    HostTensor exact(output.sizes(), output.dtype, output.device);
    AttentionCall call = record.call;
    call.output = exact.view();
    const Route served = (*exact_)(call);
    if (!served.failure.empty()) {
      problem_ = sum.route.call + " could not be served by exact attention: " + std::string(served.failure);
      return;
    }
    note_error(sum.route, exact.view(), output);
  }

  Router* exact_;
  std::vector<RouteSum> sums_;
  std::string problem_;
};

/// The routes that a model froze belong to one engine: none may be left of the variant before or for the one after.
class FreshSites {
 public:
  explicit FreshSites(ShapesModel& model) : model_(model) { model_.compiled_sites().clear(); }
  ~FreshSites() { model_.compiled_sites().clear(); }
  FreshSites(const FreshSites&) = delete;
  FreshSites& operator=(const FreshSites&) = delete;

 private:
  ShapesModel& model_;
};

std::string hash_of(const Picture& picture) {
  BitsHash hash;
  hash.add(std::as_bytes(std::span(picture.rgb)));
  return hash.text();
}

class ShapesLevers final : public LeverJob {
 public:
  ShapesLevers(std::shared_ptr<ShapesModel> model, GenerationSettings settings, int threads)
      : model_(std::move(model)), settings_(std::move(settings)), threads_(threads) {
    settings_.compiled = false;  // a variant's
  }

  [[nodiscard]] std::string title() const override { return title_of(settings_); }
  [[nodiscard]] bool draws() const override { return true; }
  [[nodiscard]] std::int64_t steps() const override { return settings_.steps; }
  [[nodiscard]] PipelineInfo pipeline() const override { return pipeline_of(model_->config()); }
  [[nodiscard]] std::string identity() const override {
    BitsHash hash;
    hash.add(to_json(settings_).dump() + " threads " + std::to_string(threads_));
    return "picture:" + hash.text();
  }

  [[nodiscard]] std::vector<LeverCall> calls(const Target& target) const override {
    std::vector<LeverCall> all;
    for (const DistinctCall& distinct : picture_schedule(settings_, model_->config()).distinct) {
      const AttentionCall call = placed_on(target, distinct.call);
      all.push_back({call, distinct.role, 0, write_call({call, distinct.role, 0, 0, 0})});
    }
    return all;
  }

  [[nodiscard]] Expected<LeverMeasure> measure(const LeverSetup& baseline, const LeverSetup& variant,
                                               const LeverRepeat& how) const override {
    const FreshSites fresh(*model_);
    LeverMeasure measure;
    const std::int64_t available = available_memory();
    for (const LeverCall& call : calls(variant.engine.target())) {
      const auto bytes = forecast_bytes(variant.engine, call, available);
      if (!bytes) return fail(bytes.error());
      measure.memory_bytes = std::max(measure.memory_bytes, *bytes);
    }
    Router exact(baseline.engine.plan(), nullptr);
    RouteBook errors(&exact);
    const double rounds = 2.0 * how.repeat + 2.0;
    double done = 0.0;
    const auto draw = [&](const LeverSetup& setup, RouteBook& book) {
      auto result = generate(setup, book, how.stop);
      if (how.progress) how.progress(++done / rounds);
      return result;
    };
    RouteBook unused(nullptr);
    const auto first = draw(baseline, unused);
    if (!first) return fail(first.error());
    const HostPeak peak;  // beside the warming run, as giving memory back would slow down a timed one
    const auto second = draw(variant, errors);
    if (!second) return fail(second.error());
    measure.host_bytes = peak.grown();
    measure.baseline_hash = hash_of(first->picture);
    measure.hash = hash_of(second->picture);
    auto distance = distance_of(first->picture, second->picture);
    if (!distance) return fail(distance.error());
    measure.picture = *distance;

    std::deque<RouteBook> variant_books;
    std::deque<RouteBook> baseline_books;
    for (int i = 0; i < how.repeat; ++i) {
      for (const bool tries : {i % 2 == 0, i % 2 != 0}) {
        RouteBook& book = (tries ? variant_books : baseline_books).emplace_back(nullptr);
        const auto result = draw(tries ? variant : baseline, book);
        if (!result) return fail(result.error());
        (tries ? measure.seconds : measure.baseline_seconds).push_back(result->seconds);
        if (tries) measure.attention_seconds.push_back(result->times.sum().attention);
      }
    }
    add_routes(errors, variant_books, baseline_books, measure);
    return measure;
  }

 private:
  [[nodiscard]] Expected<GenerationResult> generate(const LeverSetup& setup, RouteBook& book,
                                                    const std::stop_token& stop) const {
    GenerationSettings settings = settings_;
    settings.compiled = setup.compiled;
    ShapesJob job(model_, std::move(settings), nullptr, threads_);
    const auto outcome = job.run({setup.engine, &book, true, stop, {}});
    if (!outcome) return fail(outcome.error());
    if (*outcome == JobOutcome::stopped) return fail(std::string(kLeverStopped));
    if (!book.problem().empty()) return fail(book.problem());
    return *job.result();
  }

  static void add_routes(const RouteBook& errors, const std::deque<RouteBook>& variant,
                         const std::deque<RouteBook>& baseline, LeverMeasure& measure) {
    for (std::size_t i = 0; i < errors.sums().size(); ++i) {
      LeverRoute route = errors.sums()[i].route;
      std::vector<double> seconds;
      for (const RouteBook& book : variant) {
        const RouteSum& sum = book.sums().at(i);  // every generation makes the same calls in the same order
        seconds.push_back(sum.seconds / static_cast<double>(sum.route.calls));
      }
      route.seconds = median_of(std::move(seconds));
      std::vector<double> before;
      for (const RouteBook& book : baseline) before.push_back(book.seconds_of_call(route.call));
      route.baseline_seconds = median_of(std::move(before));
      measure.routes.push_back(std::move(route));
    }
  }

  std::shared_ptr<ShapesModel> model_;
  GenerationSettings settings_;
  int threads_;
};

}  // namespace

Expected<std::unique_ptr<LeverJob>> make_lever_job(std::shared_ptr<ShapesModel> model, GenerationSettings settings,
                                                   int threads) {
  if (auto good = check_settings(settings, model->config()); !good) return fail(good.error());
  return std::make_unique<ShapesLevers>(std::move(model), std::move(settings), threads);
}

}  // namespace attn::app
