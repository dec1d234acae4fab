// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/error_service.h"

#include "app/gui/error_job.h"
#include "core/call/call_text.h"
#include "ui/format/format.h"

#include <algorithm>

namespace attn::app {

namespace {

/// The route of a call of the levers, which say it in the written notation.
std::optional<trace::RouteRow> route_of(const LeverRoute& measured) {
  const auto written = parse_call(measured.call);
  if (!written) return std::nullopt;
  const RouteRecord record{.call = written->call,
                           .requested = {},
                           .selected = {},
                           .executed = measured.backend,
                           .variant = measured.kernel,
                           .selection = nullptr,
                           .role = measured.role,
                           .step = 0,
                           .computed = true,
                           .begin_ns = 0,
                           .end_ns = 0};
  return trace::route_of(trace::make_event(record));
}

}  // namespace

GuiErrorService::GuiErrorService(GuiJobControl& jobs, GuiLeversService& levers, QObject* parent)
    : ui::ErrorService(parent), jobs_(jobs), levers_(levers), postbox_(this) {
  connect(&levers_, &ui::LeversService::changed, this, &GuiErrorService::take_levers);
}

Expected<void> GuiErrorService::measure(const trace::RouteRow& route, const ui::SettingsPoint& settings) {
  if (route.id.query.rank != 4) return fail("only calls of four dims can be made alone");
  ErrorJobRequest request{route, settings.target, settings.values, settings.attention, {}, 1, std::nullopt};
  const ui::RunFacts& facts = jobs_.last_run();
  if (facts.pipeline) request.pipeline = *facts.pipeline;
  request.steps = std::max<std::int64_t>(1, facts.steps);
  if (const TokenLayout* layout = facts.layout_of(route.id.query.size[2])) request.layout = *layout;
  const auto done = [this, route, settings, address = postbox_.address()](const ErrorJobResult& result) {
    QString note =
        result.piece.empty() ? tr("measured on one whole call") : tr("measured on %1").arg(ui::text_of(result.piece));
    if (result.structured) note += tr(", values that attend as a model's do");
    address.post([this, made = ui::MeasuredRoute{route, settings, result.relative_l1, result.cosine, note}] {
      emit measured({made});
    });
  };
  return jobs_.start(make_error_job(std::move(request), done), {.new_run = false, .noun = tr("call")});
}

void GuiErrorService::take_levers() {
  const std::vector<LeverRow>& rows = levers_.result().rows;
  if (rows.size() == lever_rows_) return;
  lever_rows_ = rows.size();
  std::vector<ui::MeasuredRoute> routes;
  for (const LeverRow& row : rows) {
    if (row.state != LeverState::measured) continue;
    ui::SettingsPoint settings = levers_.measured_at();
    for (const auto& [key, value] : row.variant.settings) settings.values.put(key, value);
    for (const LeverRoute& one : row.measure.routes) {
      // A sparse call's error is that of its budget, which a route does not say.
      if (one.backend.find('+') != std::string::npos) continue;
      if (const auto route = route_of(one)) {
        routes.push_back({*route, settings, one.relative_l1, one.cosine,
                          tr("measured by the levers, variant %1").arg(ui::text_of(row.variant.name))});
      }
    }
  }
  if (!routes.empty()) emit measured(routes);
}

}  // namespace attn::app
