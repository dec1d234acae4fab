// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/block_mask/tile_view.h"
#include "ui/sparse/sparse_context.h"

#include <QWidget>
#include <optional>

class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QToolButton;

namespace attn::ui {

class ElidedLabel;
class TileLegend;

/// The tiles of the selected route at one step and head: kept, pinned, dropped, left out. A route that was only
/// planned has geometry and no tiles; a button chooses them on generated tensors.
class BlockMaskPanel final : public QWidget {
  Q_OBJECT

 public:
  BlockMaskPanel(SparseContext& context, const Theme& theme, QWidget* parent = nullptr);

  /// Shows a mask out of a file until another route or step is chosen; a sentence where it cannot be read.
  void open(const QString& path) { context_.service().open_mask(path); }
  [[nodiscard]] TileView& view() noexcept { return *view_; }
  /// Error: a sentence; also where there are no tiles to write (npy).
  [[nodiscard]] Expected<void> export_png(const QString& path) const;
  [[nodiscard]] Expected<void> export_npy(const QString& path) const;

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  /// What the drawn map stands for; a run that goes on does not draw the same map again.
  struct Drawn {
    trace::RouteIdentity route;
    double budget = 0.0;
    std::shared_ptr<const BlockSelection> selection;
    std::optional<TokenLayout> layout;
    friend bool operator==(const Drawn&, const Drawn&) = default;
  };
  QWidget* make_body();
  QWidget* make_controls(QWidget* parent);
  QWidget* make_footer(QWidget* parent);
  QToolButton* tool(const QString& text, const QString& tip, const char* name, QWidget* parent);
  void refresh();
  void show_map(const trace::RouteRow& route);
  void show_opened();
  void show_spins();
  void show_facts();
  void show_note(const trace::RouteRow& route);
  void show_nothing(const QString& headline, const QString& advice);
  void take(const ChosenTiles& tiles);
  void compute();
  void save_as(const QString& title, const QString& suffix,
               Expected<void> (BlockMaskPanel::*write)(const QString&) const);
  [[nodiscard]] QString title_of(const trace::RouteRow& route) const;

  SparseContext& context_;
  const Theme& theme_;
  QStackedWidget* stack_;
  QLabel* nothing_headline_;
  QLabel* nothing_advice_;
  ElidedLabel* title_;
  QSpinBox* step_;
  QSpinBox* head_;
  QSpinBox* batch_;
  QLabel* facts_;
  TileView* view_;
  TileLegend* legend_;
  QLabel* note_;
  QPushButton* compute_;
  QPushButton* npy_;
  std::optional<trace::RouteIdentity> shown_;  ///< the route whose step and head were chosen
  std::optional<int> followed_step_;           ///< the selected step that was last taken over
  std::optional<ChosenTiles> generated_;
  std::optional<Drawn> drawn_;
  std::optional<OpenedMask> opened_;
  std::optional<trace::RouteIdentity> opened_beside_;  ///< the route that was shown before
  bool computing_ = false;
  QString written_;  ///< what the last export said
};

}  // namespace attn::ui
