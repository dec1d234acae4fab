// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "core/sparse/parallel_for.h"
#include "core/sparse/tile_geometry.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace attn::app {

/// How the attention probabilities of a call spread over tiles: for each head, query tile and key tile the sum of the
/// softmax probabilities of its (query, key) pairs, so that a row's tiles sum to 1 and a tile row's to its rows.
/// Computed once, it answers for any selection what share of the attention mass it keeps.
class TileMass {
 public:
  /// Scores in fp32, sums in double, in one pass over the tiles with a softmax that is rescaled at the end: no score
  /// matrix. The query and key of `call` need data; masks are honoured; a row without any allowed key has no mass.
  /// Error: no data, causal, or ranks other than 4.
  /// When a stop is asked for, it returns early with what it has: the caller asks `stop` again.
  [[nodiscard]] static Expected<TileMass> measure(const AttentionCall& call, const TileGrid& grid,
                                                  const ParallelFor& parallel_for, std::stop_token stop = {});

  /// What measure() holds at a time for a call: one float a tile and head, one head's keys in fp32.
  [[nodiscard]] static std::int64_t bytes_for(const AttentionCall& call, const TileGrid& grid) noexcept;

  /// Share of the whole mass, 0..1, that lies in the kept tiles: averaged over rows and heads. `selection` has the
  /// grid's tiles; its batch and heads may be 1 and then hold for all.
  [[nodiscard]] double kept_by(const BlockSelection& selection) const noexcept;
  /// The mass of one tile, in rows.
  [[nodiscard]] float at(std::int64_t batch, std::int64_t head, std::int64_t query_tile,
                         std::int64_t key_tile) const noexcept {
    return mass_[static_cast<std::size_t>(((batch * heads_ + head) * query_tiles_ + query_tile) * key_tiles_ +
                                          key_tile)];
  }

 private:
  std::int64_t batch_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t query_tiles_ = 0;
  std::int64_t key_tiles_ = 0;
  std::vector<float> mass_;
};

}  // namespace attn::app
