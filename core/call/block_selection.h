// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace attn {

class TileMarks;

/// How the tiles of a selection are chosen from query and key, for a kernel that chooses where its tensors are.
struct SelectionRule {
  std::shared_ptr<const TileMarks> marks;  ///< null: there is no rule, the tiles do not follow from the tensors
  bool head_shared = false;

  [[nodiscard]] explicit operator bool() const noexcept { return marks != nullptr; }
};

/// Which (query tile, key tile) pairs a kernel computes: the stage's answer for one call.
///
/// `keep` holds 0 or 1 for (batch, heads, query_tiles, key_tiles), row major, where batch and heads may be 1 and
/// then hold for all. It is empty when the call has no data, so that only budget and geometry are known, and where the
/// kernel said that it chooses its tiles itself, by `rule`.
struct BlockSelection {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t query_tiles = 0;
  std::int64_t key_tiles = 0;
  std::int64_t block_q = 128;  ///< query tokens of a tile
  std::int64_t block_kv = 64;  ///< key tokens of a tile
  double budget = 1.0;         ///< share of the candidates that was asked for
  double density = 1.0;        ///< share of all tiles that is kept
  SelectionRule rule;
  std::vector<std::uint8_t> keep;

  [[nodiscard]] bool has_tiles() const noexcept { return !keep.empty(); }
  [[nodiscard]] bool kept(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const noexcept {
    const std::int64_t at_batch = batch == 1 ? 0 : b;
    const std::int64_t at_head = heads == 1 ? 0 : h;
    return keep[static_cast<std::size_t>(((at_batch * heads + at_head) * query_tiles + i) * key_tiles + j)] != 0;
  }
};

}  // namespace attn
