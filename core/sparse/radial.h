// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/sparse/tile_geometry.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

/// A static band around the diagonal, the control against which an adaptive selection is measured: it keeps the tiles
/// whose centres lie at most some distance apart.
class RadialBand {
 public:
  /// The narrowest band whose kept fraction, rounded to fp32, is not less than `density`. No band is wider than the
  /// longer sequence. A density of 0, below, or that is no number: coinciding centres only.
  RadialBand(const TileGrid& grid, double density) noexcept;

  /// Key tiles kept by a query tile.
  [[nodiscard]] TileRange row(std::int64_t row) const noexcept { return row_within(row, reach_); }
  [[nodiscard]] std::int64_t kept() const noexcept { return kept_within(reach_); }
  /// The largest kept distance between centres in tokens; nullopt when nothing is kept.
  [[nodiscard]] std::optional<double> radius() const noexcept;
  /// 0 or 1 for (query_tiles, key_tiles).
  [[nodiscard]] std::vector<std::uint8_t> keep() const;

 private:
  [[nodiscard]] TileRange row_within(std::int64_t row, std::int64_t reach) const noexcept;
  [[nodiscard]] std::int64_t kept_within(std::int64_t reach) const noexcept;

  TileGrid grid_;
  std::int64_t reach_ = 0;  ///< in half tokens, in which every centre is a whole number
};

}  // namespace attn
