// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/job_control.h"
#include "app/gui/selection_keeper.h"
#include "app/gui/worker.h"
#include "trace/collector.h"
#include "ui/link/postbox.h"
#include "ui/sparse/sparse_service.h"

#include <atomic>
#include <cstdint>

namespace attn::app {

/// The sparse stage for the window: names of models, what a run published, tiles, sweeps.
class GuiSparseService final : public ui::SparseService {
  Q_OBJECT

 public:
  /// Everything referred to outlives this.
  GuiSparseService(Engine& engine, GuiJobControl& jobs, const trace::Collector& collector,
                   const SelectionKeeper& selections, QObject* parent = nullptr);
  ~GuiSparseService() override;

  [[nodiscard]] const std::vector<ui::ModelNames>& models() const override { return models_; }
  [[nodiscard]] ui::RunFacts last_run() const override { return jobs_.last_run(); }
  [[nodiscard]] ui::SparseServed served() const override;
  [[nodiscard]] std::shared_ptr<const BlockSelection> tiles_of_run(const trace::RouteRow& route,
                                                                   double budget) const override;
  void choose_tiles(const ui::TileRequest& request) override;
  void open_mask(const QString& path) override;
  [[nodiscard]] Expected<void> sweep(const trace::RouteRow& route, bool head_shared) override;
  [[nodiscard]] const ui::SweepState& sweep_state() const override { return sweep_; }

 private:
  [[nodiscard]] Expected<AttentionCall> plain_call(const trace::RouteRow& route) const;

  Engine& engine_;
  GuiJobControl& jobs_;
  const trace::Collector& collector_;
  const SelectionKeeper& selections_;
  std::vector<ui::ModelNames> models_;
  ui::SweepState sweep_;
  std::atomic<std::uint64_t> newest_request_{0};
  ui::Postbox postbox_;
  Worker worker_;  ///< last: ends first
};

}  // namespace attn::app
