// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/tile_geometry.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace attn {
namespace {

/// For each tile of `block` tokens, whether `runs` (sorted, apart) cover every token that the sequence has of it.
std::vector<std::uint8_t> covered_tiles(const std::vector<TokenRun>& runs, std::int64_t tokens, std::int64_t block) {
  const std::int64_t tiles = tokens / block + (tokens % block != 0 ? 1 : 0);
  std::vector<std::uint8_t> covered(static_cast<std::size_t>(tiles), 0);
  std::size_t at = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t start = tile * block;
    const std::int64_t end = start + std::min(block, tokens - start);
    while (at < runs.size() && runs[at].end <= start) ++at;
    covered[static_cast<std::size_t>(tile)] = at < runs.size() && runs[at].start <= start && runs[at].end >= end;
  }
  return covered;
}

}  // namespace

TileRange TileGrid::diagonal(std::int64_t row) const noexcept {
  const std::int64_t columns = key_tiles();
  const std::int64_t first = row * block_q;
  const std::int64_t last = first + block_q - 1;
  return {std::min(first / block_kv, columns), std::min(last / block_kv + 1, columns)};
}

std::int64_t keep_count(std::int64_t candidates, double budget) noexcept {
  const float share = static_cast<float>(candidates) * static_cast<float>(budget);
  if (!(share > 0.0F)) return 0;
  const float count = std::ceil(share);
  // Beyond 2^24 a count has no exact fp32 form, so the product may pass what there is.
  if (count >= static_cast<float>(candidates)) return candidates;
  return static_cast<std::int64_t>(count);
}

LayoutTiles::LayoutTiles(const TokenLayout& layout, const TileGrid& grid) : TileMarks(grid) {
  query_pins_ =
      covered_tiles(covered_runs(layout, is_sparsifiable, grid.query_tokens), grid.query_tokens, grid.block_q);
  for (std::uint8_t& pins : query_pins_) pins = pins == 0 ? 1 : 0;
  const auto sparse =
      covered_tiles(covered_runs(layout, is_sparsifiable, grid.key_tokens), grid.key_tokens, grid.block_kv);
  const auto padding = covered_tiles(covered_runs(layout, is_dropped, grid.key_tokens), grid.key_tokens, grid.block_kv);
  key_marks_.resize(sparse.size());
  free_before_.resize(sparse.size() + 1, 0);
  for (std::size_t j = 0; j < sparse.size(); ++j) {
    key_marks_[j] = padding[j] != 0 ? TileMark::dropped : sparse[j] != 0 ? TileMark::candidate : TileMark::pinned;
    dropped_ += padding[j];
    free_before_[j + 1] = free_before_[j] + (key_marks_[j] == TileMark::candidate ? 1 : 0);
  }
}

void LayoutTiles::mark_row(std::int64_t, std::int64_t row, std::span<TileMark> marks) const noexcept {
  if (query_pins_[static_cast<std::size_t>(row)] != 0) {
    std::transform(key_marks_.begin(), key_marks_.end(), marks.begin(),
                   [](TileMark mark) { return mark == TileMark::dropped ? mark : TileMark::pinned; });
    return;
  }
  std::copy(key_marks_.begin(), key_marks_.end(), marks.begin());
  const TileRange diagonal = grid().diagonal(row);
  for (std::int64_t j = diagonal.begin; j < diagonal.end; ++j) {
    TileMark& mark = marks[static_cast<std::size_t>(j)];
    if (mark == TileMark::candidate) mark = TileMark::diagonal;
  }
}

RowCounts LayoutTiles::count_row(std::int64_t, std::int64_t row) const noexcept {
  const std::int64_t standing = static_cast<std::int64_t>(key_marks_.size()) - dropped_;
  if (query_pins_[static_cast<std::size_t>(row)] != 0) return {0, standing, standing};
  const TileRange diagonal = grid().diagonal(row);
  const std::int64_t on_diagonal =
      free_before_[static_cast<std::size_t>(diagonal.end)] - free_before_[static_cast<std::size_t>(diagonal.begin)];
  const std::int64_t open = free_before_.back();
  return {open - on_diagonal, standing - open, standing - open + on_diagonal};
}

MaskTiles::MaskTiles(const TileGrid& grid, std::int64_t heads, std::vector<std::uint8_t> pins,
                     std::vector<std::uint8_t> drops) noexcept
    : TileMarks(grid), heads_(heads), pins_(std::move(pins)), drops_(std::move(drops)) {}

Expected<MaskTiles> MaskTiles::make(const TileGrid& grid, std::int64_t heads, std::vector<std::uint8_t> pins,
                                    std::vector<std::uint8_t> drops) {
  if (grid.block_q <= 0 || grid.block_kv <= 0) {
    return fail("tiles of " + std::to_string(grid.block_q) + " x " + std::to_string(grid.block_kv) +
                " tokens are none; both sides are 1 or more");
  }
  const std::int64_t tiles = heads * grid.query_tiles() * grid.key_tiles();
  for (const auto* mask : {&pins, &drops}) {
    if (!mask->empty() && static_cast<std::int64_t>(mask->size()) != tiles) {
      return fail("a tile mask has " + std::to_string(mask->size()) + " elements; " + std::to_string(heads) +
                  " heads of " + std::to_string(grid.query_tiles()) + " x " + std::to_string(grid.key_tiles()) +
                  " tiles are " + std::to_string(tiles));
    }
  }
  return MaskTiles(grid, heads, std::move(pins), std::move(drops));
}

TileMark MaskTiles::mark(std::int64_t head, std::int64_t row, std::int64_t column) const noexcept {
  const std::int64_t own_head = heads_ == 1 ? 0 : head;
  const auto at = static_cast<std::size_t>((own_head * grid().query_tiles() + row) * grid().key_tiles() + column);
  if (!drops_.empty() && drops_[at] != 0) return TileMark::dropped;
  if (!pins_.empty() && pins_[at] != 0) return TileMark::pinned;
  return grid().diagonal(row).holds(column) ? TileMark::diagonal : TileMark::candidate;
}

void MaskTiles::mark_row(std::int64_t head, std::int64_t row, std::span<TileMark> marks) const noexcept {
  for (std::size_t j = 0; j < marks.size(); ++j) marks[j] = mark(head, row, static_cast<std::int64_t>(j));
}

RowCounts MaskTiles::count_row(std::int64_t head, std::int64_t row) const noexcept {
  RowCounts counts;
  for (std::int64_t j = 0; j < grid().key_tiles(); ++j) {
    switch (mark(head, row, j)) {
      case TileMark::candidate:
        ++counts.candidates;
        break;
      case TileMark::pinned:
        ++counts.pinned;
        [[fallthrough]];
      case TileMark::diagonal:
        ++counts.fixed;
        break;
      case TileMark::dropped:
        break;
    }
  }
  return counts;
}

SelectionTotals selection_totals(const TileMarks& marks, double budget) noexcept {
  SelectionTotals totals;
  const std::int64_t rows = marks.grid().query_tiles();
  for (std::int64_t head = 0; head < marks.heads(); ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const RowCounts counts = marks.count_row(head, row);
      const std::int64_t chosen = keep_count(counts.candidates, budget);
      totals.kept += counts.fixed + chosen;
      totals.pinned += counts.pinned;
      totals.covers_all = totals.covers_all && chosen == counts.candidates;
    }
  }
  totals.tiles = marks.heads() * rows * marks.grid().key_tiles();
  return totals;
}

}  // namespace attn
