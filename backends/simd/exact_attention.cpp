// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/exact_tiles.h"
#include "core/tensor/host_buffer.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <algorithm>

namespace attn {
namespace {

constexpr std::int64_t kWidestVector = 16;      // floats; panels are padded to whole vectors of any target
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kBlockFloats = 1 << 16;  // packed keys and values of a block: 256 KiB
constexpr std::int64_t kTaskFloats = 196608;    // queries and sums of a task: 768 KiB

std::int64_t padded(std::int64_t size) noexcept { return (size + kWidestVector - 1) / kWidestVector * kWidestVector; }

std::int64_t round_down(std::int64_t value, std::int64_t unit) noexcept { return std::max(value / unit, std::int64_t{1}) * unit; }

/// The largest tile up to `wanted` that never straddles two tiles of a selection.
std::int64_t tile_within(std::int64_t block, std::int64_t wanted) noexcept {
  std::int64_t tile = std::min(block, wanted);
  while (block % tile != 0) --tile;
  return tile;
}

/// Columns of a score tile: every key tile may be padded to whole vectors.
std::int64_t score_columns(const ExactTiling& tiling) noexcept { return 2 * padded(tiling.block_keys); }

}  // namespace

ExactTiling ExactTiling::of(const CallSizes& sizes, const BlockSelection* selection, int threads) noexcept {
  const std::int64_t width = std::max<std::int64_t>(sizes.head_dim + padded(sizes.value_dim), 1);
  ExactTiling tiling{};
  const std::int64_t key_tile = selection != nullptr ? selection->block_kv : 64;
  tiling.block_keys = round_down(std::min<std::int64_t>(kBlockFloats / width, 512), key_tile);
  tiling.tile_rows = selection != nullptr ? tile_within(selection->block_q, kTileRows) : kTileRows;
  const std::int64_t largest = round_down(std::min<std::int64_t>(kTaskFloats / width, 1024), tiling.tile_rows);
  // Four tasks a thread even the load out; fewer rows than a tile would only repeat the packing.
  const std::int64_t heads = std::max<std::int64_t>(sizes.batch * sizes.heads, 1);
  const std::int64_t wanted = sizes.query_tokens * heads / std::max<std::int64_t>(4 * threads, 1);
  tiling.task_rows = std::clamp(round_down(wanted, tiling.tile_rows), tiling.tile_rows, largest);
  return tiling;
}

std::int64_t scratch_floats(const CallSizes& sizes, const ExactTiling& tiling) noexcept {
  const ExactScratch s = scratch_in(nullptr, sizes, tiling);
  return s.scores - static_cast<float*>(nullptr) + tiling.tile_rows * score_columns(tiling);
}

ExactScratch scratch_in(float* memory, const CallSizes& sizes, const ExactTiling& tiling) noexcept {
  ExactScratch scratch{};
  std::int64_t at = 0;
  const auto take = [&](std::int64_t floats) {
    float* part = memory + at;
    at += padded(floats);
    return part;
  };
  const std::int64_t columns = score_columns(tiling);
  scratch.queries = take(tiling.task_rows * sizes.head_dim);
  scratch.sums = take(tiling.task_rows * padded(sizes.value_dim));
  scratch.row = take(3 * padded(tiling.task_rows));
  scratch.staging = take(tiling.block_keys * std::max(sizes.head_dim, padded(sizes.value_dim)));
  scratch.keys = take(sizes.head_dim * columns);
  scratch.values = take(tiling.block_keys * 2 * padded(sizes.value_dim));
  scratch.scores = take(tiling.tile_rows * columns);
  return scratch;
}

void exact_attention(const AttentionCall& call, const BlockSelection* selection) {
  const CallSizes sizes = sizes_of(call);
  const ExactTiling tiling = ExactTiling::of(sizes, selection, tbb::this_task_arena::max_concurrency());
  const ExactTiles tiles = exact_tiles();
  const std::int64_t per_head = (sizes.query_tokens + tiling.task_rows - 1) / tiling.task_rows;
  tbb::enumerable_thread_specific<HostBuffer> memory([&] {
    return HostBuffer(static_cast<std::size_t>(scratch_floats(sizes, tiling)) * sizeof(float));
  });
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, sizes.batch * sizes.heads * per_head, 1),
      [&](const tbb::blocked_range<std::int64_t>& range) {
        const ExactScratch scratch = scratch_in(memory.local().as<float>(), sizes, tiling);
        for (std::int64_t i = range.begin(); i < range.end(); ++i) {
          const std::int64_t at = i / per_head;
          // Causal work grows with the row: the long tasks start first.
          const std::int64_t part = per_head - 1 - i % per_head;
          const std::int64_t first = part * tiling.task_rows;
          tiles.run({call, selection, sizes, tiling, at / sizes.heads, at % sizes.heads, first,
                     std::min(tiling.task_rows, sizes.query_tokens - first)},
                    scratch);
        }
      },
      tbb::simple_partitioner());
}

}  // namespace attn
