// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/block_selection.h"
#include "core/sparse/tile_geometry.h"

#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

namespace attn::ui {

/// What became of a tile, for the eye.
enum class TileKind : std::uint8_t {
  left_out,   ///< a candidate whose score was too low
  candidate,  ///< its score would decide: no tiles were chosen
  chosen,     ///< a candidate that is kept
  diagonal,   ///< always kept
  pinned,     ///< always kept
  dropped,    ///< padding, never kept
};
inline constexpr int kTileKinds = 6;
[[nodiscard]] QString name_of(TileKind kind);

/// Where the tiles of a map come from.
enum class TileOrigin : std::uint8_t {
  geometry,   ///< nothing was chosen: pins, drops and the diagonal only
  generated,  ///< chosen on generated tensors
  run,        ///< used by the last run
  file,       ///< out of a file
};

/// Tiles of one call: what geometry says, and what was chosen where that is known. A plain value.
class TileMap {
 public:
  TileMap() = default;
  /// `layout` absent: the whole sequence is image. `selection` may be null or without tiles; one of another grid is
  /// left aside.
  TileMap(std::int64_t tokens, const TokenLayout* layout, double budget,
          std::shared_ptr<const BlockSelection> selection, TileOrigin origin);

  [[nodiscard]] bool empty() const noexcept { return marks_ == nullptr; }
  [[nodiscard]] bool has_tiles() const noexcept { return selection_ != nullptr; }
  [[nodiscard]] TileOrigin origin() const noexcept { return origin_; }
  [[nodiscard]] const TileGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] const TokenLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool layout_published() const noexcept { return published_; }
  [[nodiscard]] double budget() const noexcept { return budget_; }
  [[nodiscard]] const BlockSelection* selection() const noexcept { return selection_.get(); }
  /// Selections to look at: those of the selection; 1 without one.
  [[nodiscard]] int heads() const noexcept;
  [[nodiscard]] int batches() const noexcept;

  /// Of (query_tiles, key_tiles). `head` -1: a tile that any head chose counts as chosen.
  [[nodiscard]] std::vector<TileKind> kinds(int batch, int head) const;
  /// Share of the heads that keep a tile, 0..1, of (query_tiles, key_tiles); without tiles 0 or 1 for what is fixed.
  [[nodiscard]] std::vector<float> kept_share(int batch) const;
  /// Share of the tiles that a head computes; `head` -1: of all heads. Without tiles what the budget would keep.
  [[nodiscard]] double density(int batch, int head) const;
  /// 0 or 1 for (heads, query_tiles, key_tiles); empty without tiles.
  [[nodiscard]] std::vector<std::uint8_t> keep(int batch) const;

 private:
  [[nodiscard]] std::size_t tiles() const noexcept {
    return static_cast<std::size_t>(grid_.query_tiles()) * static_cast<std::size_t>(grid_.key_tiles());
  }
  [[nodiscard]] const std::uint8_t* keep_of(int batch, int head) const noexcept;

  TileGrid grid_{};
  TokenLayout layout_;
  bool published_ = false;
  double budget_ = 0.0;
  TileOrigin origin_ = TileOrigin::geometry;
  std::shared_ptr<const LayoutTiles> marks_;
  std::shared_ptr<const BlockSelection> selection_;
};

}  // namespace attn::ui
