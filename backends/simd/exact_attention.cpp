// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/exact_tiles.h"

#include <tbb/task_arena.h>
#include <algorithm>
#include <chrono>

namespace attn {
namespace {

bool processor_has_pairs() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

/// The best of a few turns of each way, taken alternately.
bool pairs_are_faster(const ExactTiles& tiles) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr int kTurns = 8;
  constexpr std::int64_t kSteps = 2000;
  constexpr double kWorthwhile = 1.3;  // a pair product does twice the work of a step
  Clock::duration best[2] = {Clock::duration::max(), Clock::duration::max()};
  volatile float kept = 0.0F;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const bool pairs : {false, true}) {
      const auto begin = Clock::now();
      kept = tiles.spin(pairs, kSteps);
      best[pairs ? 1 : 0] = std::min(best[pairs ? 1 : 0], Clock::now() - begin);
    }
  }
  (void)kept;
  return 2.0 * static_cast<double>(best[0].count()) > kWorthwhile * static_cast<double>(best[1].count());
}

}  // namespace

ExactScratch::ExactScratch(ScratchParts& parts, const CallSizes& sizes, const Tiling& tiling)
    : queries(parts.take<float>(tiling.task_rows * sizes.head_dim)),
      sums(parts.take<float>(tiling.task_rows * whole_vectors(sizes.value_dim))),
      staging(parts.take<float>(kMostPanelKeys * std::max(sizes.head_dim, whole_vectors(sizes.value_dim)))),
      keys(parts.take<float>(sizes.head_dim * tiling.block_columns())),
      values(parts.take<float>(tiling.block_keys * whole_vectors(sizes.value_dim))) {}

std::int64_t exact_bytes_per_thread(const CallSizes& sizes, const Tiling& tiling) noexcept {
  ScratchParts parts(nullptr);
  (void)ExactScratch(parts, sizes, tiling);
  return parts.bytes() + task_state_bytes(tiling);
}

bool pairs_pay(const ExactTiles& tiles) noexcept {
  if (!tiles.has_pairs || !processor_has_pairs()) return false;
  static const bool pay = pairs_are_faster(tiles);
  return pay;
}

bool pair_scores_fit(const AttentionCall& call) noexcept {
  const auto rows_of_pairs = [](const TensorView& view) {
    return view.dtype == DType::bfloat16 && (view.step(-1) == 1 || view.size(-1) == 1);
  };
  return rows_of_pairs(call.query) && rows_of_pairs(call.key);
}

void exact_attention(const AttentionCall& call, const BlockSelection* selection) {
  const CallSizes sizes = sizes_of(call);
  if (sizes.batch * sizes.heads * sizes.query_tokens == 0 || sizes.value_dim == 0) return;
  const Tiling tiling = Tiling::of(sizes, selection, tbb::this_task_arena::max_concurrency());
  const ExactTiles tiles = exact_tiles();
  const auto run = pair_scores_fit(call) && pairs_pay(tiles) ? tiles.run_pairs : tiles.run;
  const std::int64_t bytes = exact_bytes_per_thread(sizes, tiling) - task_state_bytes(tiling);
  for_each_task(call, selection, tiling, bytes, [&](const TileTask& task, std::byte* memory) {
    ScratchParts parts(memory);
    run(task, ExactScratch(parts, sizes, tiling));
  });
}

}  // namespace attn
