// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/sparse/sparse_stage.h"
#include "ui/link/engine_link.h"
#include "ui/selection/selection.h"
#include "ui/sparse/sparse_service.h"

#include <QObject>

namespace attn::ui {

/// What the sparse stage would answer for a call, from its geometry.
struct StageForecast {
  bool selects = false;
  double density = 1.0;  ///< share of the tiles that is computed; 1 when dense
  double budget = 1.0;   ///< of the step
  QString reason;        ///< why dense
};

/// Self attention of the denoiser with four dims: the only calls that have tiles to choose.
[[nodiscard]] bool has_tiles_to_choose(const trace::RouteRow& route);

/// The route's call without data; nullopt for what the notation cannot say.
[[nodiscard]] std::optional<AttentionCall> call_of(const trace::RouteRow& route, bool on_cpu);

/// Asks a stage with `options` about the route at a step of the run. `capabilities` are the server's.
[[nodiscard]] StageForecast forecast(const SparseOptions& options, const trace::RouteRow& route, std::int32_t step,
                                     const RunFacts& facts, Capabilities capabilities, bool on_cpu);

/// The facts that every part of the window's sparse side stands on, in one place.
class SparseContext final : public QObject {
  Q_OBJECT

 public:
  SparseContext(EngineLink& link, SparseService& service, Selection& selection, QObject* parent = nullptr);

  void set_run(const trace::TraceSnapshot& run);
  /// What the workload panel has: the loaded model's id and the steps of the next run.
  void set_workload(const QString& model, int steps);

  [[nodiscard]] EngineLink& link() const noexcept { return link_; }
  [[nodiscard]] SparseService& service() const noexcept { return service_; }
  [[nodiscard]] const trace::TraceSnapshot& run() const noexcept { return run_; }
  [[nodiscard]] const RunFacts& facts() const noexcept { return facts_; }
  /// As wanted, pending edits included.
  [[nodiscard]] SparseOptions options() const;
  [[nodiscard]] const ModelNames* model() const;
  [[nodiscard]] int steps() const noexcept { return steps_; }

  /// The selected route, or while none is selected the largest one that has tiles; null when there is neither.
  [[nodiscard]] const trace::RouteRow* route() const;
  /// The selected step of the denoiser.
  [[nodiscard]] std::optional<int> step() const;
  /// Selects it, for a panel that shows the route at that step; a route that the run does not have there stays alone.
  void choose_step(int step, const QObject* origin);
  /// The selected route when it has tiles to choose, else the largest of the run that has.
  [[nodiscard]] const trace::RouteRow* eligible_route() const;
  /// Capabilities of the first chain entry that takes block masks and accepts the route; block_mask alone when none.
  [[nodiscard]] Capabilities server_of(const trace::RouteRow& route) const;
  [[nodiscard]] StageForecast forecast_of(const trace::RouteRow& route, const SparseOptions& options,
                                          std::int32_t step) const;

 signals:
  /// The run, the settings, the selection or the workload is another one.
  void changed();

 private:
  [[nodiscard]] const trace::RouteRow* largest() const;

  EngineLink& link_;
  SparseService& service_;
  Selection& selection_;
  trace::TraceSnapshot run_;
  RunFacts facts_;
  QString model_;
  int steps_ = 0;
};

}  // namespace attn::ui
