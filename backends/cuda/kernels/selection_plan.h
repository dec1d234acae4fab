// SPDX-License-Identifier: GPL-3.0-or-later
// The launches of a selection; see attention_plan.h for the Launcher.
#pragma once

#include "backends/cuda/kernels/attention_plan.h"
#include "backends/cuda/kernels/pool_kernel.h"
#include "backends/cuda/kernels/select_kernel.h"

namespace attn::cuda {

struct SelectionWorkspace {
  SelectionWorkspace(const SelectionTask& task, WorkspaceParts& parts) {
    const CallShape& s = task.shape;
    query_tiles = tiles_of(s.query_tokens, task.block_q);
    key_tiles = tiles_of(s.key_tokens, task.block_kv);
    heads = task.head_shared ? 1 : s.heads;
    kv_heads = task.head_shared ? 1 : s.kv_heads;
    queries = parts.take<float>(static_cast<std::int64_t>(s.batch) * heads * query_tiles * s.head_dim);
    keys = parts.take<float>(static_cast<std::int64_t>(s.batch) * kv_heads * key_tiles * s.head_dim);
  }

  int query_tiles = 0;
  int key_tiles = 0;
  int heads = 0;
  int kv_heads = 0;
  float* queries = nullptr;
  float* keys = nullptr;
};

template <class Launcher>
[[nodiscard]] LaunchStatus select_on(Launcher& launcher, const SelectionTask& task, void* workspace) {
  const CallShape& s = task.shape;
  WorkspaceParts parts(workspace);
  const SelectionWorkspace w(task, parts);
  if (s.batch == 0 || w.heads == 0 || w.query_tiles == 0) return {};
  PoolParams pool{task.query,    s.heads,          s.query_tokens, s.head_dim, task.block_q,
                  w.query_tiles, task.head_shared, false,          w.queries};
  LaunchStatus status = launcher.template launch<PoolKernel>(pool, {w.query_tiles, w.heads, s.batch});
  if (status.ok() && w.key_tiles > 0) {
    pool = {task.key, s.kv_heads, s.key_tokens, s.head_dim, task.block_kv, w.key_tiles, task.head_shared, true, w.keys};
    status = launcher.template launch<PoolKernel>(pool, {w.key_tiles, w.kv_heads, s.batch});
  }
  if (!status.ok()) return status;
  SelectParams p;
  p.queries = w.queries;
  p.keys = w.keys;
  p.heads = w.heads;
  p.kv_heads = w.kv_heads;
  p.channels = s.head_dim;
  p.query_tiles = w.query_tiles;
  p.key_tiles = w.key_tiles;
  p.block_q = task.block_q;
  p.block_kv = task.block_kv;
  p.marks = task.marks;
  p.mark_heads = task.mark_heads;
  p.budget = task.budget;
  p.budgets = task.budgets;
  p.steps = task.steps;
  p.step = task.step;
  p.lists = task.lists;
  p.keep = task.keep;
  return launcher.template launch<SelectKernel>(p, {tiles_of(w.query_tiles, SelectKernel::kRows), w.heads, s.batch});
}

template <class Launcher>
[[nodiscard]] LaunchStatus list_on(Launcher& launcher, const std::uint8_t* keep, int list_heads,
                                   const TileLists& lists) {
  const ListParams params{keep, lists.tiles, lists.counts, list_heads * lists.query_tiles, lists.key_tiles};
  if (params.rows == 0) return {};
  return launcher.template launch<ListKernel>(params, {tiles_of(params.rows, ListKernel::kThreads), 1, 1});
}

}  // namespace attn::cuda
