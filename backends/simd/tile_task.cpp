// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/tile_task.h"

#include "backends/simd/parallel_range.h"
#include "core/tensor/host_buffer.h"

#include <tbb/enumerable_thread_specific.h>
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
constexpr std::int64_t kMaskedTaskRows = 1024;
constexpr std::int64_t kScoreColumns = 512;
constexpr std::int64_t kSparseBlockFloats = 1 << 18;  // 1 MiB
constexpr std::int64_t kMostSparseKeys = 2048;
constexpr std::int64_t kSparseTaskFloats = 1 << 20;  // 4 MiB
constexpr std::int64_t kMostSparseRows = 4096;

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

/// Whether all heads read one mask of many rows.
bool shares_mask(const AttentionCall& call) noexcept {
  if (!call.attn_mask) return false;
  const TensorView& mask = *call.attn_mask;
  const auto repeated = [&](int dim) { return mask.size(dim) == 1 || mask.step(dim) == 0; };
  return !repeated(-2) && repeated(-3) && repeated(-4);
}

}  // namespace

std::int64_t whole_vectors(std::int64_t size) noexcept {
  return (size + kWidestVector - 1) / kWidestVector * kWidestVector;
}

std::int64_t Tiling::block_columns() const noexcept {
  return (block_keys + key_tile - 1) / key_tile * whole_vectors(key_tile);
}

std::int64_t Tiling::score_columns() const noexcept { return std::min(block_columns(), kScoreColumns); }

std::int64_t TileTask::kv_head() const noexcept {
  return head / (sizes.heads / std::max<std::int64_t>(sizes.kv_heads, 1));
}

Tiling Tiling::of(const CallSizes& sizes, TokenFloats token, const BlockSelection* selection, int threads,
                  std::int64_t key_unit) noexcept {
  const bool sparse = selection != nullptr;
  const std::int64_t keys = std::max<std::int64_t>(token.key, 1);
  const std::int64_t rows = std::max<std::int64_t>(token.query, 1);
  const std::int64_t block_floats = sparse ? kSparseBlockFloats : kBlockFloats;
  const std::int64_t most_keys = std::min(block_floats / keys, sparse ? kMostSparseKeys : kMostBlockKeys);
  Tiling tiling{};
  if (sparse) {
    // A key tile too large for a block is cut into equal parts.
    const std::int64_t parts = std::max<std::int64_t>(most_keys / key_unit, 1);
    tiling.key_tile = key_unit * tile_within(selection->block_kv / key_unit, parts);
    // Small ones are padded to whole vectors.
    tiling.block_keys = round_down(most_keys * tiling.key_tile / whole_vectors(tiling.key_tile), tiling.key_tile);
    tiling.tile_rows = tile_within(selection->block_q, kTileRows);
  } else {
    tiling.block_keys = round_down(round_down(most_keys, 64), key_unit);
    tiling.key_tile = tiling.block_keys;
    tiling.tile_rows = kTileRows;
  }
  const std::int64_t fits = sparse ? std::clamp(kSparseTaskFloats / rows, kLeastTaskRows, kMostSparseRows)
                                   : std::clamp(kTaskFloats / rows, kLeastTaskRows, kMostTaskRows);
  const std::int64_t largest = round_down(fits, tiling.tile_rows);
  // Four tasks a thread even the load out; fewer rows than a tile would only repeat the packing.
  const std::int64_t heads = std::max<std::int64_t>(sizes.batch * sizes.heads, 1);
  const std::int64_t wanted = sizes.query_tokens * heads / std::max<std::int64_t>(4 * threads, 1);
  tiling.task_rows = std::clamp(round_down(wanted, tiling.tile_rows), tiling.tile_rows, largest);
  return tiling;
}

Tiling Tiling::of(const CallSizes& sizes, const BlockSelection* selection, int threads) noexcept {
  return of(sizes, {sizes.head_dim + sizes.value_dim, sizes.head_dim + whole_vectors(sizes.value_dim)}, selection,
            threads);
}

std::int64_t task_state_bytes(const Tiling& tiling) noexcept {
  ScratchParts parts(nullptr);
  (void)RowStates(parts, tiling);
  return parts.bytes();
}

void for_each_task(const AttentionCall& call, const BlockSelection* selection, const Tiling& given,
                   std::int64_t scratch_bytes, const std::function<void(const TileTask&, std::byte*)>& body) {
  const CallSizes sizes = sizes_of(call);
  const bool mask_shared = shares_mask(call);
  Tiling tiling = given;
  // The heads in turn on the same rows: a mask larger than the caches then comes from memory once, not once a head.
  if (mask_shared) tiling.task_rows = std::min(tiling.task_rows, round_down(kMaskedTaskRows, tiling.tile_rows));
  const std::int64_t heads = sizes.batch * sizes.heads;
  const std::int64_t per_head = (sizes.query_tokens + tiling.task_rows - 1) / tiling.task_rows;
  const std::int64_t states = task_state_bytes(tiling);
  tbb::enumerable_thread_specific<HostBuffer> memory(
      [&] { return HostBuffer::unset(static_cast<std::size_t>(states + scratch_bytes)); });
  parallel_range(sizes.batch * sizes.heads * per_head, 1, [&](std::int64_t begin, std::int64_t end) {
    std::byte* base = memory.local().data();
    ScratchParts parts(base);
    const RowStates row(parts, tiling);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = mask_shared ? i % heads : i / per_head;
      const std::int64_t part = mask_shared ? i / heads : i % per_head;
      // Causal work grows with the row: the long tasks start first.
      const std::int64_t first = (per_head - 1 - part) * tiling.task_rows;
      body({call, selection, sizes, tiling, at / sizes.heads, at % sizes.heads, first,
            std::min(tiling.task_rows, sizes.query_tokens - first), row.maximum, row.sum, row.rescale, row.scores},
           base + states);
    }
  });
}

}  // namespace attn
