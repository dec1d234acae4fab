// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/exact_tiles.h"

#include <tbb/task_arena.h>
#include <algorithm>

namespace attn {

ExactScratch::ExactScratch(ScratchParts& parts, const CallSizes& sizes, const Tiling& tiling)
    : queries(parts.take<float>(tiling.task_rows * sizes.head_dim)),
      sums(parts.take<float>(tiling.task_rows * whole_vectors(sizes.value_dim))),
      staging(parts.take<float>(tiling.block_keys * std::max(sizes.head_dim, whole_vectors(sizes.value_dim)))),
      keys(parts.take<float>(sizes.head_dim * tiling.score_columns())),
      values(parts.take<float>(tiling.block_keys * 2 * whole_vectors(sizes.value_dim))) {}

std::int64_t exact_bytes_per_thread(const CallSizes& sizes, const Tiling& tiling) noexcept {
  ScratchParts parts(nullptr);
  (void)ExactScratch(parts, sizes, tiling);
  return parts.bytes() + task_state_bytes(tiling);
}

void exact_attention(const AttentionCall& call, const BlockSelection* selection) {
  const CallSizes sizes = sizes_of(call);
  if (sizes.batch * sizes.heads * sizes.query_tokens == 0 || sizes.value_dim == 0) return;
  const Tiling tiling = Tiling::of(sizes, selection, tbb::this_task_arena::max_concurrency());
  const ExactTiles tiles = exact_tiles();
  const std::int64_t bytes = exact_bytes_per_thread(sizes, tiling) - task_state_bytes(tiling);
  for_each_task(call, selection, tiling, bytes, [&](const TileTask& task, std::byte* memory) {
    ScratchParts parts(memory);
    tiles.run(task, ExactScratch(parts, sizes, tiling));
  });
}

}  // namespace attn
