// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/tile_task.h"

#include "core/tensor/host_buffer.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <algorithm>

namespace attn {
namespace {

constexpr std::int64_t kWidestVector = 16;  // floats
constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kBlockFloats = 1 << 16;  // packed keys and values of a block: 256 KiB
constexpr std::int64_t kMostBlockKeys = 512;
constexpr std::int64_t kTaskFloats = 196608;  // queries and sums of a task: 768 KiB
constexpr std::int64_t kLeastTaskRows = 256;  // fewer would repeat the packing too often
constexpr std::int64_t kMostTaskRows = 2048;

std::int64_t round_down(std::int64_t value, std::int64_t unit) noexcept {
  return std::max(value / unit, std::int64_t{1}) * unit;
}

/// The largest tile up to `wanted` that never straddles two tiles of a selection.
std::int64_t tile_within(std::int64_t block, std::int64_t wanted) noexcept {
  std::int64_t tile = std::min(block, wanted);
  while (block % tile != 0) --tile;
  return tile;
}

struct RowStates {
  RowStates(ScratchParts& parts, const Tiling& tiling)
      : maximum(parts.take<float>(tiling.task_rows)),
        sum(parts.take<float>(tiling.task_rows)),
        rescale(parts.take<float>(tiling.task_rows)),
        scores(parts.take<float>(tiling.tile_rows * tiling.score_columns())) {}
  float* maximum;
  float* sum;
  float* rescale;
  float* scores;
};

}  // namespace

std::int64_t whole_vectors(std::int64_t size) noexcept {
  return (size + kWidestVector - 1) / kWidestVector * kWidestVector;
}

std::int64_t Tiling::score_columns() const noexcept { return 2 * whole_vectors(block_keys); }

std::int64_t TileTask::kv_head() const noexcept {
  return head / (sizes.heads / std::max<std::int64_t>(sizes.kv_heads, 1));
}

Tiling Tiling::of(const CallSizes& sizes, std::int64_t row_floats, const BlockSelection* selection,
                  int threads) noexcept {
  const std::int64_t width = std::max<std::int64_t>(sizes.head_dim + whole_vectors(sizes.value_dim), 1);
  Tiling tiling{};
  const std::int64_t key_tile = selection != nullptr ? selection->block_kv : 64;
  tiling.block_keys = round_down(std::min(kBlockFloats / width, kMostBlockKeys), key_tile);
  tiling.tile_rows = selection != nullptr ? tile_within(selection->block_q, kTileRows) : kTileRows;
  const std::int64_t fits =
      std::clamp(kTaskFloats / std::max<std::int64_t>(row_floats, 1), kLeastTaskRows, kMostTaskRows);
  const std::int64_t largest = round_down(fits, tiling.tile_rows);
  // Four tasks a thread even the load out; fewer rows than a tile would only repeat the packing.
  const std::int64_t heads = std::max<std::int64_t>(sizes.batch * sizes.heads, 1);
  const std::int64_t wanted = sizes.query_tokens * heads / std::max<std::int64_t>(4 * threads, 1);
  tiling.task_rows = std::clamp(round_down(wanted, tiling.tile_rows), tiling.tile_rows, largest);
  return tiling;
}

std::int64_t task_state_bytes(const Tiling& tiling) noexcept {
  ScratchParts parts(nullptr);
  (void)RowStates(parts, tiling);
  return parts.bytes();
}

void for_each_task(const AttentionCall& call, const BlockSelection* selection, const Tiling& tiling,
                   std::int64_t scratch_bytes, const std::function<void(const TileTask&, std::byte*)>& body) {
  const CallSizes sizes = sizes_of(call);
  const std::int64_t per_head = (sizes.query_tokens + tiling.task_rows - 1) / tiling.task_rows;
  const std::int64_t states = task_state_bytes(tiling);
  tbb::enumerable_thread_specific<HostBuffer> memory(
      [&] { return HostBuffer(static_cast<std::size_t>(states + scratch_bytes)); });
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, sizes.batch * sizes.heads * per_head, 1),
      [&](const tbb::blocked_range<std::int64_t>& range) {
        std::byte* base = memory.local().data();
        ScratchParts parts(base);
        const RowStates row(parts, tiling);
        for (std::int64_t i = range.begin(); i < range.end(); ++i) {
          const std::int64_t at = i / per_head;
          // Causal work grows with the row: the long tasks start first.
          const std::int64_t first = (per_head - 1 - i % per_head) * tiling.task_rows;
          body({call, selection, sizes, tiling, at / sizes.heads, at % sizes.heads, first,
                std::min(tiling.task_rows, sizes.query_tokens - first), row.maximum, row.sum, row.rescale, row.scores},
               base + states);
        }
      },
      tbb::simple_partitioner());
}

}  // namespace attn
