// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "core/sparse/parallel_for.h"
#include "core/sparse/tile_geometry.h"
#include "core/tensor/expected.h"
#include "core/tensor/tensor_view.h"

#include <cstdint>

namespace attn {

/// How to select. The result does not depend on `scratch_bytes` or `parallel_for`.
struct SelectorRequest {
  double budget = 0.3;                      ///< share of each row's candidates that is kept, keep_count()
  bool head_shared = false;                 ///< one selection for all heads, from tensors averaged over them
  bool force = false;                       ///< select also where every row keeps all its candidates
  std::int64_t scratch_bytes = 32LL << 20;  ///< pooled keys held at a time; a single key head's may be more
  ParallelFor parallel_for;
};

/// What a selection takes, before it is made. Bytes; counts of tiles are those of one head.
struct SelectionCost {
  std::int64_t query_tiles = 0;
  std::int64_t key_tiles = 0;
  std::int64_t keep_bytes = 0;     ///< the selection itself, one byte a tile, head and batch
  std::int64_t scores_bytes = 0;   ///< all scores in fp32; never held, a thread holds four rows of them
  std::int64_t scratch_bytes = 0;  ///< pooled keys held at a time
  std::int64_t chunks = 0;         ///< passes over the heads that this takes
};

/// `query` and `key` are (batch, heads, tokens, head_dim) of rank 2 to 4; data is not looked at.
[[nodiscard]] SelectionCost selection_cost(const TensorView& query, const TensorView& key, const TileGrid& grid,
                                           const SelectorRequest& request) noexcept;

/// Keeps, for each query tile and head, the diagonal and pinned tiles of `marks` and of its candidates the
/// keep_count() with the highest scores; equal scores by lower index, a score that is no number below all others.
/// The score of a tile pair is the dot product of the fp32 means of its tokens; no scale. With fewer key heads than
/// query heads, query head h reads key head h / (H / Hkv).
///
/// query (B, H, Sq, D) and key (B, Hkv, Skv, D) of any strides and float dtypes; rank 2 to 4. `marks` must be of
/// their token counts. `selection` is overwritten and its memory reused; where a tensor has no data, `keep` stays
/// empty and density is that which the data could not change.
/// True: selected. False: every row keeps all its candidates, so the call stays dense (never with `force`).
/// Error: shapes or marks that do not belong together, or a budget that is no number.
[[nodiscard]] Expected<bool> select_tiles(const TensorView& query, const TensorView& key, const TileMarks& marks,
                                          const SelectorRequest& request, BlockSelection& selection);

/// Chooses the tiles of a selection that was planned without them, by its rule. Nothing to do where it has them.
/// Error: a selection without rule, or as select_tiles().
[[nodiscard]] Expected<void> choose_planned_tiles(const AttentionCall& call, const ParallelFor& parallel_for,
                                                  BlockSelection& selection);

}  // namespace attn
