// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/call_addresses.h"
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"

#include <cstdint>
#include <functional>

namespace attn {

/// Keys of a block that are computed: `keys` of them from `key` on (counted in the block), whose scores stand from
/// column `column` of the score tile on.
struct Stretch {
  std::int64_t column;
  std::int64_t key;
  std::int64_t keys;
};

/// Keys that one product call serves at the most, on any instruction set.
inline constexpr std::int64_t kMostPanelKeys = 80;

/// What one token takes of a task's memory, in floats.
struct TokenFloats {
  std::int64_t query;  ///< a query row: its query and its sums
  std::int64_t key;    ///< a packed key and its value
};

/// How a call is cut. All counts in tokens.
struct Tiling {
  std::int64_t task_rows;   ///< query rows that share one packing of the keys and values
  std::int64_t tile_rows;   ///< query rows of a score tile; divides task_rows and a selection's query tile
  std::int64_t block_keys;  ///< keys packed at a time, in whole key tiles
  std::int64_t key_tile;    ///< keys that are kept or left out together: no panel straddles two of these

  /// Sizes that keep memory under 8 MiB a thread and give every thread several tasks. Dense work is cut for a level-2
  /// cache of 1 MiB. With a selection most of a packing would not be used by a task of few rows, so that tasks are
  /// larger than that cache: what a tile keeps streams from the next one. Blocks and key tiles hold whole multiples of
  /// `key_unit` keys, which a selection's key tile must do too.
  [[nodiscard]] static Tiling of(const CallSizes& sizes, TokenFloats token, const BlockSelection* selection,
                                 int threads, std::int64_t key_unit = 1) noexcept;
  /// The same for fp32.
  [[nodiscard]] static Tiling of(const CallSizes& sizes, const BlockSelection* selection, int threads) noexcept;

  /// Columns of a packed block: every key tile is padded to whole vectors.
  [[nodiscard]] std::int64_t block_columns() const noexcept;
  /// Columns of a score tile, which holds a run of a block's kept panels.
  [[nodiscard]] std::int64_t score_columns() const noexcept;
};

/// Rounds up to whole vectors of the widest target.
[[nodiscard]] std::int64_t whole_vectors(std::int64_t size) noexcept;

/// One unit of work: query rows [first_row, first_row + rows) of one head.
struct TileTask {
  const AttentionCall& call;
  const BlockSelection* selection;
  const CallSizes& sizes;
  const Tiling& tiling;
  std::int64_t batch;
  std::int64_t head;
  std::int64_t first_row;
  std::int64_t rows;
  float* row_maximum;  ///< of every row, in base 2
  float* row_sum;      ///< of the exponentials
  float* row_rescale;  ///< for what was summed before the last block
  float* scores;       ///< (tile_rows, score_columns)

  [[nodiscard]] std::int64_t kv_head() const noexcept;
};

/// Hands parts of one piece of memory out, each aligned to a cache line. With a null base it only counts.
class ScratchParts {
 public:
  explicit ScratchParts(std::byte* base) noexcept : base_(base) {}
  template <class T>
  [[nodiscard]] T* take(std::int64_t count) noexcept {
    std::byte* part = base_ == nullptr ? nullptr : base_ + bytes_;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(part);
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* base_;
  std::int64_t bytes_ = 0;
};

/// Cuts the call into tasks, gives each thread `scratch_bytes` once, and runs `body(task, memory)` for every task with
/// oneTBB; the rows' states and the score tile are placed in memory of their own. Results do not depend on the threads.
void for_each_task(const AttentionCall& call, const BlockSelection* selection, const Tiling& tiling,
                   std::int64_t scratch_bytes, const std::function<void(const TileTask&, std::byte*)>& body);

/// What for_each_task adds to scratch_bytes per thread.
[[nodiscard]] std::int64_t task_state_bytes(const Tiling& tiling) noexcept;

}  // namespace attn
