// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/int8_tiles.h"

#include "backends/simd/parallel_range.h"

#include <tbb/task_arena.h>
#include <algorithm>

namespace attn {
namespace {

/// Columns that share a factor of the probabilities, at the least: the narrowest panel of any target.
constexpr std::int64_t kFewestFactorColumns = 4;

std::int64_t whole_words(std::int64_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

/// Keys that stay together: those of a factor, and of a word of bytes.
std::int64_t key_unit(const Int8Arithmetic& how) noexcept { return std::max(how.scheme.key_block, 4); }

/// sum = the sum of the rows.
void add_rows(const float* rows, std::int64_t count, std::int64_t width, float* sum) {
  std::fill_n(sum, width, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < width; ++d) sum[d] += rows[i * width + d];
  }
}

/// The mean key of every (batch, key/value head): (batch * kv_heads, head_dim). Sums of 64 rows in fp32, those in
/// double.
std::vector<float> mean_keys(const AttentionCall& call, const CallSizes& sizes) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t width = sizes.head_dim;
  std::vector<float> means(static_cast<std::size_t>(sizes.batch * sizes.kv_heads * width), 0.0F);
  parallel_range(sizes.batch * sizes.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> rows(static_cast<std::size_t>(kRows * width));
    std::vector<float> part(static_cast<std::size_t>(width));
    std::vector<double> sum(static_cast<std::size_t>(width));
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t offset = head_offset(call.key, at / sizes.kv_heads, at % sizes.kv_heads);
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::int64_t first = 0; first < sizes.key_tokens; first += kRows) {
        const std::int64_t count = std::min(kRows, sizes.key_tokens - first);
        load_rows(call.key, offset, first, count, rows.data(), width);
        add_rows(rows.data(), count, width, part.data());
        for (std::int64_t d = 0; d < width; ++d) sum.data()[d] += static_cast<double>(part.data()[d]);
      }
      const double tokens = static_cast<double>(std::max<std::int64_t>(sizes.key_tokens, 1));
      for (std::int64_t d = 0; d < width; ++d) {
        means[static_cast<std::size_t>(at * width + d)] = static_cast<float>(sum[static_cast<std::size_t>(d)] / tokens);
      }
    }
  });
  return means;
}

}  // namespace

Int8Scratch::Int8Scratch(ScratchParts& parts, const CallSizes& sizes, const Int8Arithmetic& how, const Tiling& tiling) {
  const std::int64_t depth = whole_words(how.key_width);
  const std::int64_t channels = whole_vectors(how.value_width);
  const std::int64_t columns = tiling.block_columns();
  const std::int64_t score_columns = tiling.score_columns();
  const std::int64_t rows = std::max<std::int64_t>(tiling.block_keys, Int8Scheme::kMostTokens);
  (void)sizes;
  queries = parts.take<std::uint8_t>(tiling.task_rows * depth);
  query_factor = parts.take<float>(tiling.task_rows);
  sums = parts.take<float>(tiling.task_rows * channels);
  staging = parts.take<float>(Int8Scheme::kMostTokens * std::max(how.key_width, channels));
  bytes = parts.take<std::int8_t>((rows + 4) * std::max(depth, channels));
  keys = parts.take<std::int8_t>(depth * columns);
  key_factor = parts.take<float>(columns);
  key_sum = parts.take<std::int32_t>(columns);
  values = parts.take<float>(how.values == Int8Values::int8 ? 0 : tiling.block_keys * channels);
  value_bytes = parts.take<std::int8_t>(how.values == Int8Values::int8 ? (tiling.block_keys + 4) * channels : 0);
  token_factor = parts.take<float>(rows);
  token_sum = parts.take<std::int32_t>(rows);
  column_factor = parts.take<float>(score_columns);
  probabilities = parts.take<std::uint8_t>(how.values == Int8Values::int8 ? tiling.tile_rows * score_columns : 0);
  probability_factor = parts.take<float>(tiling.tile_rows * (score_columns / kFewestFactorColumns + 1));
}

Tiling int8_tiling(const CallSizes& sizes, const BlockSelection* selection, const Int8Arithmetic& how,
                   int threads) noexcept {
  const std::int64_t row_floats = how.key_width / 4 + how.value_width;
  const std::int64_t value_floats = how.values == Int8Values::int8 ? how.value_width / 4 : how.value_width;
  return Tiling::of(sizes, {row_floats, how.key_width / 4 + value_floats}, selection, threads, key_unit(how));
}

std::int64_t int8_bytes_per_thread(const CallSizes& sizes, const Int8Arithmetic& how, const Tiling& tiling) noexcept {
  ScratchParts parts(nullptr);
  (void)Int8Scratch(parts, sizes, how, tiling);
  return parts.bytes() + task_state_bytes(tiling);
}

bool int8_takes(const BlockSelection* selection, const Int8Arithmetic& how) noexcept {
  if (selection == nullptr) return true;
  return selection->block_kv % key_unit(how) == 0 && how.scheme.query_block == 1;
}

void int8_attention(const AttentionCall& call, const BlockSelection* selection, const Int8Arithmetic& how) {
  const CallSizes sizes = sizes_of(call);
  if (sizes.batch * sizes.heads * sizes.query_tokens == 0 || sizes.value_dim == 0) return;
  const Tiling tiling = int8_tiling(sizes, selection, how, tbb::this_task_arena::max_concurrency());
  const Int8Tiles tiles = int8_tiles();
  const std::vector<float> means = how.smooth_keys ? mean_keys(call, sizes) : std::vector<float>();
  const std::int64_t bytes = int8_bytes_per_thread(sizes, how, tiling) - task_state_bytes(tiling);
  for_each_task(call, selection, tiling, bytes, [&](const TileTask& task, std::byte* memory) {
    ScratchParts parts(memory);
    const float* mean =
        means.empty() ? nullptr : means.data() + (task.batch * sizes.kv_heads + task.kv_head()) * sizes.head_dim;
    tiles.run(task, how, mean, Int8Scratch(parts, sizes, how, tiling));
  });
}

}  // namespace attn
