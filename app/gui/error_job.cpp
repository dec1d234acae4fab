// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/error_job.h"

#include "app/gui/sweep_job.h"
#include "app/jobs/compare/compare.h"
#include "app/jobs/levers/variants.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/threads.h"
#include "ui/format/format.h"

#include <algorithm>
#include <cstring>

namespace attn::app {

namespace {

constexpr std::int32_t kHeads = 4;     ///< some backends decline a single one
constexpr std::int32_t kProbe = 1024;  ///< tokens of the piece that tells how fast this host is
constexpr std::size_t kHeadDim = 1;    ///< places in (batch, heads, tokens, head_dim)
constexpr std::size_t kTokenDim = 2;

std::int32_t tokens_of(const trace::EventShape& shape) { return shape.rank == 4 ? shape.size[kTokenDim] : 0; }

Expected<std::unique_ptr<Engine>> engine_with(const Engine& here, const ErrorJobRequest& request, bool exact) {
  auto engine = std::make_unique<Engine>(here.registry(), request.target, LogSink{}, on_all_threads());
  SettingList changes;
  for (const auto& [key, value] : request.values.all()) changes.emplace_back(key, value);
  if (exact) {
    for (auto& [key, value] : baseline_settings(engine->specs())) changes.emplace_back(key, std::move(value));
  }
  if (auto set = engine->set_all(changes); !set) return fail(set.error());
  if (exact) return engine;
  engine->set_quarantine(here.quarantine());
  AttentionChoices attention = request.attention;
  attention.dispatcher.clear();
  if (auto set = engine->set_attention(std::move(attention)); !set) return fail(set.error());
  return engine;
}

std::string piece_text(const trace::RouteRow& whole, const trace::RouteRow& part) {
  std::string text;
  const auto add = [&](std::int32_t some, std::int32_t all, const char* noun) {
    if (some == all) return;
    if (!text.empty()) text += ", ";
    text += ui::utf8_of(ui::count_text(some)) + " of " + ui::utf8_of(ui::count_text(all)) + ' ' + noun;
  };
  add(part.id.query.size[0], whole.id.query.size[0], "batch elements");
  add(part.id.query.size[kHeadDim], whole.id.query.size[kHeadDim], "heads");
  add(tokens_of(part.id.query), tokens_of(whole.id.query), "tokens");
  return text;
}

class ErrorJob final : public Job {
 public:
  ErrorJob(ErrorJobRequest request, std::function<void(const ErrorJobResult&)> done)
      : request_(std::move(request)), done_(std::move(done)) {}

  [[nodiscard]] std::string title() const override {
    return "error of " + request_.route.id.backend + " against exact attention, " +
           ui::utf8_of(ui::shape_text(request_.route.id.query));
  }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    const auto exact = engine_with(environment.engine, request_, true);
    if (!exact) return fail(exact.error());
    const auto served = engine_with(environment.engine, request_, false);
    if (!served) return fail(served.error());
    trace::RouteRow piece = fewer_heads(request_.route);
    if (is_sparse()) piece.query_layout = piece.key_layout = piece.value_layout = Layout::contiguous;
    const auto seconds = exact_seconds(piece, **exact);
    if (!seconds) return fail(seconds.error());
    piece = fewer_tokens(piece, *seconds);
    if (environment.stop.stop_requested()) return JobOutcome::stopped;
    const auto schedule = schedule_of(piece);
    if (!schedule) return fail(schedule.error());
    auto structured = structured_of(*schedule);
    if (!structured) return fail(structured.error());
    CompareOptions options;
    if (*structured) {
      options.tensors = [&](const AttentionCall& call, std::uint32_t) { return with_values(call, **structured); };
    }
    options.stop = environment.stop;
    options.progress = environment.progress;
    const auto result = compare_chains(*schedule, **exact, **served, options);
    if (!result) return fail(result.error());
    if (result->outcome == JobOutcome::stopped || result->rows.empty()) return JobOutcome::stopped;
    return publish(result->rows.front(), piece);
  }

 private:
  [[nodiscard]] Expected<CallSchedule> schedule_of(const trace::RouteRow& route) const {
    const auto written = parse_call(ui::written_call(route, request_.target.is_cpu()));
    if (!written) return fail(written.error());
    CallSchedule schedule = make_schedule(*written);
    schedule.pipeline = request_.pipeline;
    schedule.steps = std::max<std::int64_t>(request_.steps, route.first_step + 1);
    for (CallSchedule::Forward& forward : schedule.forwards) forward.step = route.first_step;
    if (!request_.layout || schedule.patterns.empty()) return schedule;
    const std::int64_t tokens = tokens_of(route.id.query);
    schedule.patterns.front().layout =
        request_.layout->length == tokens ? request_.layout : shortened(*request_.layout, tokens);
    return schedule;
  }

  [[nodiscard]] bool is_sparse() const { return request_.route.id.backend.find('+') != std::string::npos; }

  /// On random values every tile weighs the same, so a selection could only be wrong: a sparse route is measured on
  /// tensors that attend as a model's do. None for a dense one, and where there is a mask, which those cannot have.
  [[nodiscard]] Expected<std::optional<StructuredTensors>> structured_of(const CallSchedule& schedule) const {
    const AttentionCall& call = schedule.distinct.front().call;
    if (!is_sparse() || call.attn_mask) return std::optional<StructuredTensors>();
    if (auto fits = check_memory(call, tensor_bytes(call), available_memory()); !fits) return fail(fits.error());
    StructureOptions structure;
    structure.layout = schedule.patterns.front().layout;
    auto made = structured_tensors(call, structure);
    if (!made) return fail(made.error());
    return std::optional<StructuredTensors>(std::move(*made));
  }

  [[nodiscard]] static CallTensors with_values(const AttentionCall& call, StructuredTensors& values) {
    CallTensors tensors = generate(call, 0);
    const auto copy = [](HostBuffer& to, HostTensor& from) {
      std::memcpy(to.data(), from.memory().data(), std::min<std::size_t>(to.size(), from.memory().size()));
    };
    copy(tensors.query, values.query);
    copy(tensors.key, values.key);
    copy(tensors.value, values.value);
    return tensors;
  }

  /// Of exact attention on a piece, from fewer tokens: attention grows with queries times keys.
  [[nodiscard]] Expected<double> exact_seconds(const trace::RouteRow& piece, Engine& exact) const {
    trace::RouteRow probe = piece;
    double times = 1.0;
    for (trace::EventShape* shape : {&probe.id.query, &probe.id.key, &probe.value}) {
      if (shape->rank != 4 || shape->size[kTokenDim] <= kProbe) continue;
      if (shape != &probe.value) times *= static_cast<double>(shape->size[kTokenDim]) / kProbe;
      shape->size[kTokenDim] = kProbe;
    }
    const auto schedule = schedule_of(probe);
    if (!schedule) return fail(schedule.error());
    Engine other(exact.registry(), exact.target());
    const auto result = compare_chains(*schedule, exact, other, {});
    if (!result) return fail(result.error());
    return result->rows.empty() ? 0.0 : result->rows.front().a.seconds * times;
  }

  [[nodiscard]] Expected<JobOutcome> publish(const CompareRow& row, const trace::RouteRow& piece) const {
    const std::string& backend = request_.route.id.backend;
    if (!row.a.failure.empty()) return fail("exact attention cannot serve this call: " + row.a.failure);
    if (!row.b.failure.empty()) return fail("nobody serves this call when it is made alone: " + row.b.failure);
    if (row.b.backend != backend) {
      return fail("made alone, this call goes to " + row.b.backend + " and not to " + backend +
                  ", which served it in the run; there is no error of " + backend + " to tell");
    }
    done_({row.error.relative_l1, row.error.cosine, piece_text(request_.route, piece), is_sparse()});
    return JobOutcome::finished;
  }

  ErrorJobRequest request_;
  std::function<void(const ErrorJobResult&)> done_;
};

}  // namespace

trace::RouteRow fewer_heads(const trace::RouteRow& route) {
  trace::RouteRow piece = route;
  if (route.id.query.rank != 4 || route.id.key.rank != 4) return piece;
  const std::int32_t groups = std::max(1, route.id.query.size[kHeadDim] / std::max(1, route.id.key.size[kHeadDim]));
  const std::int32_t kv_heads = std::min(route.id.key.size[kHeadDim], kHeads);
  piece.id.query.size[kHeadDim] = kv_heads * groups;
  piece.id.key.size[kHeadDim] = piece.value.size[kHeadDim] = kv_heads;
  for (trace::EventShape* shape : {&piece.id.query, &piece.id.key, &piece.value}) shape->size[0] = 1;
  return piece;
}

trace::RouteRow fewer_tokens(const trace::RouteRow& route, double seconds) {
  trace::RouteRow piece = route;
  if (route.id.query.rank != 4) return piece;
  const auto shorten = [&](trace::EventShape& shape) {
    shape.size[kTokenDim] = static_cast<std::int32_t>(tokens_within(shape.size[kTokenDim], seconds));
  };
  for (trace::EventShape* shape : {&piece.id.query, &piece.id.key, &piece.value}) shorten(*shape);
  return piece;
}

std::unique_ptr<Job> make_error_job(ErrorJobRequest request, std::function<void(const ErrorJobResult&)> done) {
  return std::make_unique<ErrorJob>(std::move(request), std::move(done));
}

}  // namespace attn::app
