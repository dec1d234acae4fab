// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/layout/token_layout.h"
#include "core/sparse/selector.h"
#include "core/sparse/tile_geometry.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A self attention call of which only the geometry is known.
struct SparsePlanRequest {
  std::int64_t tokens = 0;  ///< 0: the layout's
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 128;
  std::int64_t block_q = 128;
  std::int64_t block_kv = 64;
  double budget = 0.3;
  bool head_shared = false;
  std::optional<TokenLayout> layout;
  std::optional<std::int64_t> memory_limit;  ///< bytes that a chunk of heads may take while it is scored
};

/// Tiles [first, last] in a row.
struct TileSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(TileSpan, TileSpan) noexcept = default;
};

/// What the sparse stage would do and take, from geometry alone. Bytes are exact; counts of tiles are of one head.
struct SparsePlan {
  std::int64_t tokens = 0;
  std::int64_t heads = 1;  ///< selections made: batch * heads, or batch when the heads share one
  TileGrid grid;
  std::int64_t scores_bytes = 0;  ///< all scores in fp32
  std::int64_t scores_bytes_per_head = 0;
  std::int64_t keep_bytes = 0;             ///< the selection, one byte a tile and head
  std::int64_t pooled_bytes_per_head = 0;  ///< a key head's pooled keys in fp32
  std::int64_t chunks = 1;                 ///< passes over the heads
  std::int64_t chunk_heads = 0;            ///< heads of a whole chunk
  std::int64_t chunk_bytes = 0;  ///< pooled keys and fp32 scores of a chunk; never above the limit when there is one
  SelectorRequest request;       ///< the selector's, which makes these chunks
  std::int64_t kept_tiles = 0;
  std::int64_t pinned_tiles = 0;
  std::int64_t dropped_tiles = 0;
  double density = 1.0;
  bool covers_all = false;               ///< the budget keeps everything: the call stays dense
  std::vector<TileSpan> pinned_rows;     ///< query tiles that keep every key tile that is not dropped
  std::vector<TileSpan> pinned_columns;  ///< key tiles that every query tile keeps
  std::vector<std::string> warnings;     ///< layout mismatch, a budget below the floor; whole sentences
  std::string mismatch;                  ///< the first of them when it is about the layout's length
};

/// Error: a size below 1, sizes whose product no machine holds, heads that are no multiple of the key heads, neither
/// tokens nor layout, a budget out of range, or a limit that not even one key head's selection fits into.
[[nodiscard]] Expected<SparsePlan> plan_sparse(const SparsePlanRequest& request);

/// What choosing tiles as planned gave, beside choosing them in one go.
struct ChunkCheck {
  bool identical = false;
  std::int64_t kept = 0;  ///< tiles of all heads
  double seconds = 0.0;   ///< as planned
  double whole_seconds = 0.0;
};
/// Generates query and key with structure (bf16) and selects twice. Error: they do not fit into `available` bytes.
[[nodiscard]] Expected<ChunkCheck> check_chunks(const SparsePlanRequest& request, const SparsePlan& plan,
                                                std::int64_t available);

/// "10MB", "9.5 MiB", "2GiB", "65536": bytes. Error: the forms there are.
[[nodiscard]] Expected<std::int64_t> read_bytes(std::string_view text);
/// "128x64": query tokens by key tokens of a tile. Error: the form.
[[nodiscard]] Expected<std::pair<std::int64_t, std::int64_t>> read_block(std::string_view text);

}  // namespace attn::app
