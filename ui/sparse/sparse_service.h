// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/block_selection.h"
#include "core/context/generation_context.h"
#include "core/sparse/tile_geometry.h"
#include "trace/routes/route_table.h"

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace attn::ui {

/// A model under every name that an exclusion may use.
struct ModelNames {
  QString id;    ///< "flux.1-dev"
  QString name;  ///< "FLUX.1 dev"
  ModelKey key;
};

/// What the last run published beside its calls.
struct RunFacts {
  std::optional<PipelineInfo> pipeline;  ///< absent before the first run
  std::int64_t steps = 0;
  std::vector<TokenLayout> layouts;  ///< at most one of a length

  [[nodiscard]] const TokenLayout* layout_of(std::int64_t tokens) const noexcept {
    for (const TokenLayout& layout : layouts) {
      if (layout.length == tokens) return &layout;
    }
    return nullptr;
  }
};

/// How much of a run the sparse stage served.
struct SparseServed {
  bool on = false;  ///< the chain in force was built with the stage switched on
  std::int64_t served = 0;
  std::int64_t calls = 0;
  QString reason;  ///< why it served nothing, as far as the chain explains it
};

/// A route of which tiles are wanted.
struct TileRequest {
  trace::RouteRow route;
  double budget = 0.3;
  bool head_shared = false;
};

/// Tiles of a call. `selection` has tiles unless `error` says why not.
struct ChosenTiles {
  trace::RouteIdentity route;
  double budget = 0.0;
  bool head_shared = false;
  std::shared_ptr<const BlockSelection> selection;
  double seconds = 0.0;  ///< of the selection
  QString error;
};

/// A block mask out of a file.
struct OpenedMask {
  QString name;  ///< of the file
  std::shared_ptr<const BlockSelection> selection;
  QString error;  ///< a sentence where it has none
};

/// One measured point of a sweep.
struct SweepPoint {
  double budget = 1.0;
  double density = 1.0;
  double relative_l1 = 0.0;
  double cosine = 1.0;
  double mass_kept = 1.0;
  double seconds = 0.0;  ///< selection and attention
  double speedup = 1.0;
  friend bool operator==(const SweepPoint&, const SweepPoint&) = default;
};

/// What is known of a sweep so far.
struct SweepState {
  enum class Phase { none, running, finished, stopped, failed };
  Phase phase = Phase::none;
  trace::RouteIdentity route;
  QString call;       ///< "1×24×4608×128 bf16"
  QString backend;    ///< "sdnq int8"
  QStringList notes;  ///< what differs from the call of the route, a sentence each
  double dense_seconds = 0.0;
  std::vector<SweepPoint> adaptive;
  std::vector<SweepPoint> radial;
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::optional<double> seconds_left;
  QString error;
};

/// What the window needs of the sparse stage beyond the engine. Members and signals belong to the GUI thread.
class SparseService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const std::vector<ModelNames>& models() const = 0;
  [[nodiscard]] virtual RunFacts last_run() const = 0;
  [[nodiscard]] virtual SparseServed served() const = 0;

  /// The tiles that the last run really used for such a call; null when it computed none.
  [[nodiscard]] virtual std::shared_ptr<const BlockSelection> tiles_of_run(const trace::RouteRow& route,
                                                                           double budget) const = 0;
  /// Selects on generated tensors of the route's shapes, on a worker thread; tiles_chosen() follows. A newer request
  /// replaces one that has not begun.
  virtual void choose_tiles(const TileRequest& request) = 0;

  /// Reads a NumPy array (query tiles, key tiles), or with heads or batch and heads before them; mask_opened() follows.
  virtual void open_mask(const QString& path) = 0;

  /// Measures the route for every budget as a job; JobControl::stop() stops it. Error: a job runs.
  [[nodiscard]] virtual Expected<void> sweep(const trace::RouteRow& route, bool head_shared) = 0;
  [[nodiscard]] virtual const SweepState& sweep_state() const = 0;

 signals:
  void tiles_chosen(const attn::ui::ChosenTiles& tiles);
  void mask_opened(const attn::ui::OpenedMask& mask);
  void sweep_changed();
};

}  // namespace attn::ui
