// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/selection_check.h"

#include "app/jobs/selftest/selftest_calls.h"
#include "backends/cuda/kernels/task_of_call.h"
#include "backends/cuda/runtime/transfer.h"
#include "backends/cuda/serve/device_compute.h"
#include "core/sparse/selector.h"

#include <algorithm>

namespace attn::app {
namespace {

constexpr double kBudget = 0.3;

/// The selection by the host, with nothing pinned but the diagonal.
Expected<BlockSelection> select_on_host(const AttentionCall& call) {
  const TileGrid grid{call.query_tokens(), call.key_tokens(), cuda::kQueryTile, cuda::kKeyTile};
  const auto marks = MaskTiles::make(grid, 1, {}, {});
  if (!marks) return fail(marks.error());
  BlockSelection selection;
  SelectorRequest request;
  request.budget = kBudget;
  request.force = true;
  const auto selected = select_tiles(call.query, call.key, *marks, request, selection);
  if (!selected) return fail(selected.error());
  return selection;
}

}  // namespace

Expected<std::int64_t> check_selection(cuda::LocalGpu& gpu, const cuda::LaunchTable& launches) {
  const FilledCall filled({.name = "selection", .heads = 4, .query_tokens = 1000, .key_tokens = 1500});
  const auto expected = select_on_host(filled.call());
  if (!expected) return fail(expected.error());
  if (const auto current = gpu.api->make_current(); !current) return fail(current.error());
  cuda::Transfer transfer(*gpu.api, gpu.pool);
  const auto placed = cuda::place(transfer, filled.call(), false);
  if (!placed) return fail(placed.error());
  const auto attention = cuda::task_of_call(placed->call);
  if (!attention) return fail("the call of the selection check does not fit a kernel");
  const auto tiles = static_cast<std::int64_t>(expected->keep.size());
  const std::int64_t rows = tiles / expected->key_tiles;
  cuda::SelectionTask task;
  task.shape = attention->shape;
  task.query = attention->query;
  task.key = attention->key;
  task.budget = static_cast<float>(kBudget);
  const cuda::Subject subject = [] { return std::string("the selection"); };
  const auto keep = gpu.pool.get(tiles, subject);
  const auto lists = gpu.pool.get(tiles * static_cast<std::int64_t>(sizeof(int)), subject);
  const auto counts = gpu.pool.get(rows * static_cast<std::int64_t>(sizeof(int)), subject);
  const auto workspace = gpu.pool.get(cuda::selection_workspace_bytes(task), subject);
  for (const auto* buffer : {&keep, &lists, &counts, &workspace}) {
    if (!*buffer) return fail(buffer->error());
  }
  const auto query_tiles = static_cast<int>(expected->query_tiles);
  task.keep = static_cast<std::uint8_t*>(keep->data());
  task.lists = {static_cast<int*>(lists->data()),      static_cast<int*>(counts->data()), query_tiles,
                static_cast<int>(expected->key_tiles), query_tiles * task.shape.heads,    query_tiles};
  const cuda::LaunchStatus launched = launches.selection(task, workspace->data(), gpu.api->stream());
  if (!launched.ok()) return fail(gpu.api->launch_error(launched.kernel, launched.code));
  std::vector<std::uint8_t> got(expected->keep.size());
  if (const auto queued = gpu.api->copy_out(got.data(), keep->data(), tiles, subject); !queued) {
    return fail(queued.error());
  }
  if (const auto finished = transfer.finish("the selection"); !finished) return fail(finished.error());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) different += got[i] == expected->keep[i] ? 0 : 1;
  return different;
}

}  // namespace attn::app
