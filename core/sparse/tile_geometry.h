// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/layout/token_layout.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Indices of neighbouring tiles: [begin, end).
struct TileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] bool holds(std::int64_t tile) const noexcept { return tile >= begin && tile < end; }
  friend bool operator==(TileRange, TileRange) noexcept = default;
};

/// A sequence pair cut into tiles of block_q query tokens by block_kv key tokens; the last of each may be ragged.
/// Both block sizes are 1 or more.
struct TileGrid {
  std::int64_t query_tokens = 0;
  std::int64_t key_tokens = 0;
  std::int64_t block_q = 128;
  std::int64_t block_kv = 64;

  [[nodiscard]] std::int64_t query_tiles() const noexcept { return tiles(query_tokens, block_q); }
  [[nodiscard]] std::int64_t key_tiles() const noexcept { return tiles(key_tokens, block_kv); }
  /// Key tiles whose token range overlaps that of query tile `row`. Ranges of whole tiles count, not what the
  /// sequence has of them.
  [[nodiscard]] TileRange diagonal(std::int64_t row) const noexcept;

  friend bool operator==(const TileGrid&, const TileGrid&) = default;

 private:
  [[nodiscard]] static std::int64_t tiles(std::int64_t tokens, std::int64_t block) noexcept {
    return tokens / block + (tokens % block != 0 ? 1 : 0);
  }
};

/// What geometry alone says about a tile. The first that holds, from the bottom up.
enum class TileMark : std::uint8_t {
  candidate,  ///< its score decides
  diagonal,   ///< always kept
  pinned,     ///< always kept
  dropped,    ///< never kept
};

/// How many tiles of a row are what.
struct RowCounts {
  std::int64_t candidates = 0;
  std::int64_t pinned = 0;
  std::int64_t fixed = 0;  ///< pinned ones and those of the diagonal
};

/// How many of `candidates` tiles a budget keeps: ceil(candidates * budget), both rounded to fp32 and multiplied
/// there, as the systems mirrored do. Never below 0 or above `candidates`; none for a budget that is no number.
[[nodiscard]] std::int64_t keep_count(std::int64_t candidates, double budget) noexcept;

/// What is decided about tiles before any score is known.
class TileMarks {
 public:
  explicit TileMarks(const TileGrid& grid) noexcept : grid_(grid) {}
  TileMarks(const TileMarks&) = default;
  TileMarks& operator=(const TileMarks&) = default;
  virtual ~TileMarks() = default;

  [[nodiscard]] const TileGrid& grid() const noexcept { return grid_; }
  /// Heads with marks of their own; 1: the marks hold for all.
  [[nodiscard]] virtual std::int64_t heads() const noexcept { return 1; }
  /// Fills one mark per key tile. `marks` has grid().key_tiles() elements.
  virtual void mark_row(std::int64_t head, std::int64_t row, std::span<TileMark> marks) const noexcept = 0;
  [[nodiscard]] virtual RowCounts count_row(std::int64_t head, std::int64_t row) const noexcept = 0;

 private:
  TileGrid grid_;
};

/// Marks that follow from a token layout: a tile is dropped when every token of its key tile is padding, else pinned
/// unless all tokens of both its tiles are sparsifiable. Takes memory in proportion to rows plus columns.
/// A layout shorter than the sequence is extended by tokens of no kind, a longer one is cut.
class LayoutTiles final : public TileMarks {
 public:
  LayoutTiles(const TokenLayout& layout, const TileGrid& grid);

  void mark_row(std::int64_t head, std::int64_t row, std::span<TileMark> marks) const noexcept override;
  [[nodiscard]] RowCounts count_row(std::int64_t head, std::int64_t row) const noexcept override;

 private:
  std::vector<std::uint8_t> query_pins_;   ///< 1: some token of the query tile is not sparsifiable
  std::vector<TileMark> key_marks_;        ///< candidate, pinned or dropped, for a query tile that does not pin
  std::vector<std::int64_t> free_before_;  ///< key tiles that may be candidates before each index
  std::int64_t dropped_ = 0;
};

/// Marks that are given tile by tile.
class MaskTiles final : public TileMarks {
 public:
  /// `pins` and `drops` hold 0 or 1 for (heads, query_tiles, key_tiles); empty for none. Error: another size, or a grid
  /// with tiles of no tokens.
  [[nodiscard]] static Expected<MaskTiles> make(const TileGrid& grid, std::int64_t heads,
                                                std::vector<std::uint8_t> pins, std::vector<std::uint8_t> drops);

  [[nodiscard]] std::int64_t heads() const noexcept override { return heads_; }
  void mark_row(std::int64_t head, std::int64_t row, std::span<TileMark> marks) const noexcept override;
  [[nodiscard]] RowCounts count_row(std::int64_t head, std::int64_t row) const noexcept override;

 private:
  MaskTiles(const TileGrid& grid, std::int64_t heads, std::vector<std::uint8_t> pins,
            std::vector<std::uint8_t> drops) noexcept;
  [[nodiscard]] TileMark mark(std::int64_t head, std::int64_t row, std::int64_t column) const noexcept;

  std::int64_t heads_;
  std::vector<std::uint8_t> pins_;
  std::vector<std::uint8_t> drops_;
};

/// What a budget keeps, which geometry alone decides.
struct SelectionTotals {
  std::int64_t tiles = 0;  ///< of all heads that the marks tell apart
  std::int64_t kept = 0;
  std::int64_t pinned = 0;
  bool covers_all = true;  ///< every row keeps all its candidates

  [[nodiscard]] double density() const noexcept {
    return tiles == 0 ? 0.0 : static_cast<double>(kept) / static_cast<double>(tiles);
  }
};
[[nodiscard]] SelectionTotals selection_totals(const TileMarks& marks, double budget) noexcept;

}  // namespace attn
