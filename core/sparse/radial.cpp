// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/radial.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

RadialBand::RadialBand(const TileGrid& grid, double density) noexcept : grid_(grid) {
  if (!(density > 0.0)) return;
  const double tiles = static_cast<double>(grid.query_tiles()) * static_cast<double>(grid.key_tiles());
  const auto reaches = [&](std::int64_t reach) {
    return static_cast<double>(static_cast<float>(static_cast<double>(kept_within(reach)) / tiles)) >= density;
  };
  std::int64_t narrow = 0;
  std::int64_t wide = 2 * std::max(grid.query_tokens, grid.key_tokens);
  while (narrow < wide) {
    const std::int64_t middle = narrow + (wide - narrow) / 2;
    if (reaches(middle)) {
      wide = middle;
    } else {
      narrow = middle + 1;
    }
  }
  reach_ = wide;
}

TileRange RadialBand::row_within(std::int64_t row, std::int64_t reach) const noexcept {
  const std::int64_t centre = (2 * row + 1) * grid_.block_q;
  // Key tile j has its centre at (2 j + 1) * block_kv; solve for the first and the last j within reach.
  const std::int64_t step = 2 * grid_.block_kv;
  const std::int64_t first = -floor_div(-(centre - reach - grid_.block_kv), step);
  const std::int64_t last = floor_div(centre + reach - grid_.block_kv, step);
  const std::int64_t columns = grid_.key_tiles();
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, columns);
  return {begin, std::clamp<std::int64_t>(last + 1, begin, columns)};
}

std::int64_t RadialBand::kept_within(std::int64_t reach) const noexcept {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < grid_.query_tiles(); ++i) {
    const TileRange range = row_within(i, reach);
    kept += range.end - range.begin;
  }
  return kept;
}

std::optional<double> RadialBand::radius() const noexcept {
  std::int64_t largest = -1;
  for (std::int64_t i = 0; i < grid_.query_tiles(); ++i) {
    const TileRange range = row(i);
    if (range.begin == range.end) continue;
    const std::int64_t centre = (2 * i + 1) * grid_.block_q;
    for (const std::int64_t j : {range.begin, range.end - 1}) {
      largest = std::max(largest, std::abs(centre - (2 * j + 1) * grid_.block_kv));
    }
  }
  if (largest < 0) return std::nullopt;
  return static_cast<double>(largest) / 2.0;
}

std::vector<std::uint8_t> RadialBand::keep() const {
  const std::int64_t columns = grid_.key_tiles();
  std::vector<std::uint8_t> keep(static_cast<std::size_t>(grid_.query_tiles() * columns), 0);
  for (std::int64_t i = 0; i < grid_.query_tiles(); ++i) {
    const TileRange range = row(i);
    for (std::int64_t j = range.begin; j < range.end; ++j) keep[static_cast<std::size_t>(i * columns + j)] = 1;
  }
  return keep;
}

}  // namespace attn
