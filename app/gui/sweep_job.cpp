// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/sweep_job.h"

#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/sweep.h"
#include "app/jobs/tensors/generated.h"
#include "ui/format/format.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace attn::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTile = 128;
constexpr std::int64_t kFewestTokens = 1024;

QString said(const char* text) { return ui::SparseService::tr(text); }

AttentionCall with_tokens(const AttentionCall& call, std::int64_t tokens) {
  const auto shortened_view = [tokens](const TensorView& view) {
    return TensorView::contiguous({view.size(0), view.size(1), tokens, view.size(3)}, view.dtype, view.device);
  };
  AttentionCall out = call;
  out.query = shortened_view(call.query);
  out.key = shortened_view(call.key);
  out.value = shortened_view(call.value);
  return out;
}

/// The entry that would serve the call and takes a block mask; null when the plan has none.
const PlanEntry* entry_for(const Plan& plan, const AttentionCall& call) {
  const CallFacts facts(call);
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.capabilities.block_mask && entry.gate.accepts(facts, call)) return &entry;
  }
  return nullptr;
}

/// A chain of every backend that takes block masks, for a target whose own chain has none.
std::shared_ptr<const Plan> capable_plan(const Registry& registry, const Plan& plan) {
  PlanRequest request;
  for (const BackendSpec& spec : registry.ascending()) {
    if (spec.capabilities.block_mask) request.labels.push_back(spec.label);
  }
  request.target = plan.target();
  request.options = plan.captured();
  return Plan::build(registry, std::move(request));
}

std::vector<ui::SweepPoint> points_of(const SweepResult& result, bool radial) {
  std::vector<ui::SweepPoint> points;
  for (const SweepRow& row : result.rows) {
    if (radial && !row.radial) continue;
    const SparseQuality& quality = radial ? *row.radial : row.adaptive;
    points.push_back({row.budget, quality.density, quality.relative_l1, quality.cosine, quality.mass_kept,
                      quality.seconds(), radial ? row.radial_speedup : row.speedup});
  }
  return points;
}

class SweepJob final : public Job {
 public:
  SweepJob(SweepJobRequest request, std::function<void(const ui::SweepState&)> publish)
      : request_(std::move(request)), publish_(std::move(publish)) {
    state_.phase = ui::SweepState::Phase::running;
    state_.route = request_.route;
    state_.notes = request_.notes;
    name_call();
  }

  [[nodiscard]] std::string title() const override { return "budget sweep of " + ui::utf8_of(state_.call); }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    publish_(state_);
    Expected<JobOutcome> done = measure(environment);
    state_.phase =
        !done ? ui::SweepState::Phase::failed
              : (*done == JobOutcome::stopped ? ui::SweepState::Phase::stopped : ui::SweepState::Phase::finished);
    if (!done) state_.error = ui::text_of(done.error());
    state_.seconds_left.reset();
    publish_(state_);
    return done;
  }

 private:
  void name_call() {
    state_.call =
        ui::text_of(std::to_string(request_.call.batch()) + "×" + std::to_string(request_.call.heads()) + "×" +
                    std::to_string(request_.call.query_tokens()) + "×" + std::to_string(request_.call.head_dim()) +
                    " " + std::string(short_name_of(request_.call.query.dtype)));
  }

  Expected<JobOutcome> measure(const JobEnvironment& environment) {
    std::shared_ptr<const Plan> plan = environment.engine.plan();
    const PlanEntry* entry = entry_for(*plan, request_.call);
    if (entry == nullptr) {
      plan = capable_plan(environment.engine.registry(), *plan);
      entry = entry_for(*plan, request_.call);
      if (entry == nullptr)
        return fail(nobody_takes_block_masks(environment.engine.registry()) + ", or another target");
      state_.notes << said("Nothing in the chain takes this call with a block mask; measured with %1.")
                          .arg(ui::text_of(entry->name));
    }
    state_.backend = ui::text_of(entry->name);
    publish_(state_);
    if (auto fits = fit_call(*entry); !fits) return fail(fits.error());
    if (environment.stop.stop_requested()) return JobOutcome::stopped;
    StructureOptions structure;
    structure.layout = request_.layout;
    const auto tensors = structured_tensors(request_.call, structure);
    if (!tensors) return fail(tensors.error());
    SweepOptions options;
    options.layout = request_.layout;
    options.head_shared = request_.head_shared;
    options.stop = environment.stop;
    options.progress = [&](const JobProgress& progress, const SweepResult& result) {
      show(progress, result);
      if (environment.progress) environment.progress(progress);
    };
    const auto result = sweep_budgets(tensors->call, *entry, options);
    if (!result) return fail(result.error());
    return result->outcome;
  }

  void show(const JobProgress& progress, const SweepResult& result) {
    state_.backend = ui::text_of(result.backend + (result.kernel.empty() ? "" : " " + result.kernel));
    state_.dense_seconds = result.dense_seconds;
    state_.adaptive = points_of(result, false);
    state_.radial = points_of(result, true);
    state_.done = progress.calls_done;
    state_.total = progress.calls_total;
    state_.seconds_left = progress.seconds_left;
    publish_(state_);
  }

  /// Seconds of one dense run of the whole call, from a short one: attention grows with the square of the tokens.
  Expected<double> dense_seconds(const PlanEntry& entry) const {
    const std::int64_t tokens = request_.call.query_tokens();
    const std::int64_t few = std::min<std::int64_t>(tokens, 2048);
    const auto piece = structured_tensors(with_tokens(request_.call, few), {});
    if (!piece) return fail(piece.error());
    double seconds = 0.0;
    for (int i = 0; i < 2; ++i) {  // the first also starts threads and touches memory
      const auto begin = Clock::now();
      const KernelResult ran = entry.kernel->run(piece->call, nullptr);
      if (!ran.failure.empty()) return fail(std::string(ran.failure));
      seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    const double times = static_cast<double>(tokens) / static_cast<double>(few);
    return seconds * times * times;
  }

  [[nodiscard]] static bool fits_memory(const AttentionCall& call) {
    return check_memory(call, QualityProbe::bytes_for(call), available_memory()).has_value();
  }

  Expected<void> fit_call(const PlanEntry& entry) {
    const std::int64_t whole = request_.call.query_tokens();
    const auto seconds = dense_seconds(entry);
    if (!seconds) return fail(seconds.error());
    const std::int64_t by_time = tokens_within(whole, *seconds);
    std::int64_t tokens = by_time;
    while (!fits_memory(with_tokens(request_.call, tokens))) {
      if (tokens <= kFewestTokens)
        return check_memory(request_.call, QualityProbe::bytes_for(request_.call), available_memory());
      tokens = std::max(kFewestTokens, tokens * 3 / 4 / kTile * kTile);
    }
    if (tokens == whole) return {};
    if (request_.layout) {
      request_.layout = shortened(*request_.layout, tokens);
      if (request_.layout) {
        tokens = request_.layout->length;
      } else {
        state_.notes << said("Its token layout does not fit into so few tokens and is left out.");
      }
    }
    request_.call = with_tokens(request_.call, tokens);
    const QString why =
        tokens < by_time ? said("the whole call does not fit into memory")
                         : said("one dense run of the whole call would take about %1").arg(ui::seconds_text(*seconds));
    state_.notes.prepend(
        said("Measured at %1 of %2 tokens: %3.").arg(ui::count_text(tokens), ui::count_text(whole), why));
    name_call();
    publish_(state_);
    return {};
  }

  SweepJobRequest request_;
  std::function<void(const ui::SweepState&)> publish_;
  ui::SweepState state_;
};

}  // namespace

std::int64_t tokens_within(std::int64_t tokens, double seconds) noexcept {
  if (!(seconds > kLongestDense)) return tokens;
  const double most = static_cast<double>(tokens) * std::sqrt(kLongestDense / seconds);
  return std::min(tokens, std::max(kFewestTokens, static_cast<std::int64_t>(most) / kTile * kTile));
}

std::optional<TokenLayout> shortened(const TokenLayout& layout, std::int64_t tokens) {
  constexpr std::int64_t kPiece = 64;
  const std::int64_t free = sparsifiable_tokens(layout);
  const std::int64_t left = tokens - (layout.length - free);
  if (free <= 0 || left < kPiece) return std::nullopt;
  TokenLayout out{layout.source, 0, {}};
  for (const TokenSpan& span : layout.spans) {
    std::int64_t size = span.end - span.start;
    if (is_sparsifiable(span.kind)) {
      const double share = static_cast<double>(size) / static_cast<double>(free);
      size = std::max(kPiece, static_cast<std::int64_t>(static_cast<double>(left) * share) / kPiece * kPiece);
    }
    out.spans.push_back({span.kind, out.length, out.length + size});
    out.length += size;
  }
  return out.length <= tokens ? std::optional(std::move(out)) : std::nullopt;
}

std::unique_ptr<Job> make_sweep_job(SweepJobRequest request, std::function<void(const ui::SweepState&)> publish) {
  return std::make_unique<SweepJob>(std::move(request), std::move(publish));
}

}  // namespace attn::app
