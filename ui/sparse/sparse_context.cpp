// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/sparse_context.h"

#include "core/call/call_text.h"
#include "ui/format/format.h"

namespace attn::ui {

bool has_tiles_to_choose(const trace::RouteRow& route) {
  const trace::EventShape& q = route.id.query;
  const trace::EventShape& k = route.id.key;
  return route.id.role == Role::transformer && q.rank == 4 && k.rank == 4 && q.size[2] == k.size[2] && !route.causal;
}

std::optional<AttentionCall> call_of(const trace::RouteRow& route, bool on_cpu) {
  const Expected<WrittenCall> written = parse_call(written_call(route, on_cpu));
  if (!written) return std::nullopt;
  return written->call;
}

StageForecast forecast(const SparseOptions& options, const trace::RouteRow& route, std::int32_t step,
                       const RunFacts& facts, Capabilities capabilities, bool on_cpu) {
  StageForecast out;
  const auto call = call_of(route, on_cpu);
  if (!call) {
    out.reason = QObject::tr("unsupported tensor");
    return out;
  }
  GenerationContext context;
  context.begin(facts.pipeline ? *facts.pipeline : PipelineInfo{}, facts.steps);
  if (const TokenLayout* layout = facts.layout_of(call->query_tokens())) context.set_layout(*layout);
  context.set_role(route.id.role);
  context.set_step(step);
  SparseStage stage(options);
  const StageDecision decision = stage.decide(*call, context, capabilities);
  out.selects = decision.selection != nullptr;
  if (out.selects) {
    out.density = decision.selection->density;
    out.budget = decision.budget;
  } else {
    out.reason = decision.reason.empty() ? QObject::tr("the selection covers everything") : text_of(decision.reason);
  }
  return out;
}

SparseContext::SparseContext(EngineLink& link, SparseService& service, Selection& selection, QObject* parent)
    : QObject(parent), link_(link), service_(service), selection_(selection) {
  connect(&link_, &EngineLink::settings_changed, this, &SparseContext::changed);
  connect(&selection_, &Selection::changed, this, &SparseContext::changed);
}

void SparseContext::set_run(const trace::TraceSnapshot& run) {
  run_ = run;
  facts_ = service_.last_run();
  emit changed();
}

void SparseContext::set_workload(const QString& model, int steps) {
  if (model == model_ && steps == steps_) return;
  model_ = model;
  steps_ = steps;
  emit changed();
}

SparseOptions SparseContext::options() const { return sparse_options_from(link_.engine().values()); }

const ModelNames* SparseContext::model() const {
  for (const ModelNames& names : service_.models()) {
    if (names.id == model_) return &names;
  }
  return nullptr;
}

const trace::RouteRow* SparseContext::largest() const {
  const trace::RouteRow* found = nullptr;
  const auto tiles = [](const trace::RouteRow& row) {
    const auto& size = row.id.query.size;
    return static_cast<double>(size[0]) * size[1] * size[2] * size[2];
  };
  for (const trace::RouteRow& row : run_.routes) {
    if (has_tiles_to_choose(row) && (found == nullptr || tiles(row) > tiles(*found))) found = &row;
  }
  return found;
}

const trace::RouteRow* SparseContext::route() const {
  if (!selection_.route()) return largest();
  // The row of the run has the newer counts.
  for (const trace::RouteRow& row : run_.routes) {
    if (row.id == selection_.route()->id) return &row;
  }
  return &*selection_.route();
}

std::optional<int> SparseContext::step() const {
  return selection_.role() == Role::transformer ? selection_.step() : std::nullopt;
}

void SparseContext::choose_step(int step, const QObject* origin) {
  const auto& route = selection_.route();
  if (route && step >= route->first_step && step <= route->last_step) {
    selection_.choose_step(route->id.role, step, origin);
  }
}

const trace::RouteRow* SparseContext::eligible_route() const {
  const trace::RouteRow* chosen = route();
  return chosen != nullptr && has_tiles_to_choose(*chosen) ? chosen : largest();
}

Capabilities SparseContext::server_of(const trace::RouteRow& route) const {
  const std::shared_ptr<const Plan> plan = link_.engine().plan();
  if (const auto call = call_of(route, plan->target().is_cpu())) {
    const CallFacts facts(*call);
    for (const PlanEntry& entry : plan->entries()) {
      if (entry.capabilities.block_mask && entry.gate.accepts(facts, *call)) return entry.capabilities;
    }
  }
  Capabilities bare;
  bare.block_mask = true;
  return bare;
}

StageForecast SparseContext::forecast_of(const trace::RouteRow& route, const SparseOptions& options,
                                         std::int32_t step) const {
  return forecast(options, route, step, facts_, server_of(route), link_.engine().plan()->target().is_cpu());
}

}  // namespace attn::ui
