// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/sparse_plan.h"

#include "app/jobs/sparse/budget_text.h"
#include "app/jobs/sparse/layout_text.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/threads.h"
#include "app/jobs/tensors/generated.h"
#include "core/layout/layout_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace attn::app {
namespace {

Expected<std::int64_t> product(std::initializer_list<std::int64_t> factors) {
  std::int64_t value = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(value, factor, &value)) return fail("these sizes are more than 64 bits can count");
  }
  return value;
}

Expected<SparsePlanRequest> checked(SparsePlanRequest request) {
  if (request.tokens == 0 && request.layout) request.tokens = request.layout->length;
  if (request.tokens == 0) return fail("name the sequence: --tokens 8704, or --layout text:512,image:8192");
  if (request.kv_heads == 0) request.kv_heads = request.heads;
  for (const auto& [name, value] : {std::pair{"tokens", request.tokens},
                                    {"batch", request.batch},
                                    {"heads", request.heads},
                                    {"kv heads", request.kv_heads},
                                    {"head_dim", request.head_dim},
                                    {"query tokens of a block", request.block_q},
                                    {"key tokens of a block", request.block_kv}}) {
    if (value < 1) return fail(std::string(name) + " " + std::to_string(value) + ": 1 or more would be right");
  }
  if (request.heads % request.kv_heads != 0) {
    return fail(std::to_string(request.heads) + " heads are no multiple of " + std::to_string(request.kv_heads) +
                " key heads");
  }
  if (!(request.budget > 0.0 && request.budget <= 1.0)) {
    return fail("the budget " + std::to_string(request.budget * 100.0) + " % must be above 0 and at most 100 %");
  }
  constexpr std::int64_t kMostTokens = 1LL << 31;  // so that tiles of one head can be walked
  if (request.tokens > kMostTokens) return fail("more than 2^31 tokens are not planned");
  if (const auto bytes = product({request.batch, request.heads, request.tokens, request.head_dim, 8}); !bytes) {
    return fail(bytes.error());
  }
  const TileGrid grid{request.tokens, request.tokens, request.block_q, request.block_kv};
  if (const auto bytes = product({request.batch, request.heads, grid.query_tiles(), grid.key_tiles(), 8}); !bytes) {
    return fail(bytes.error());
  }
  return request;
}

void add_tile(std::vector<TileSpan>& spans, std::int64_t tile) {
  if (!spans.empty() && spans.back().last + 1 == tile) {
    spans.back().last = tile;
  } else {
    spans.push_back({tile, tile});
  }
}

/// Counts pins and drops and finds the rows and columns that are pinned as a whole.
void describe_marks(const LayoutTiles& marks, SparsePlan& plan) {
  const std::int64_t columns = marks.grid().key_tiles();
  std::vector<TileMark> row_marks(static_cast<std::size_t>(columns));
  std::vector<std::uint8_t> pinned_column(static_cast<std::size_t>(columns), 1);
  for (std::int64_t row = 0; row < marks.grid().query_tiles(); ++row) {
    marks.mark_row(0, row, row_marks);
    bool whole = columns > 0;
    for (std::size_t j = 0; j < row_marks.size(); ++j) {
      const bool pinned = row_marks[j] == TileMark::pinned;
      plan.dropped_tiles += row_marks[j] == TileMark::dropped ? 1 : 0;
      whole = whole && (pinned || row_marks[j] == TileMark::dropped);
      if (!pinned) pinned_column[j] = 0;
    }
    if (whole) add_tile(plan.pinned_rows, row);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    if (pinned_column[static_cast<std::size_t>(j)] != 0) add_tile(plan.pinned_columns, j);
  }
}

/// Cuts the heads into chunks whose pooled keys and scores stay within the limit.
Expected<void> chunk(const SparsePlanRequest& request, SparsePlan& plan) {
  const bool shared = request.head_shared;
  const std::int64_t groups = request.batch * (shared ? 1 : request.kv_heads);
  const std::int64_t heads_per_group = shared ? 1 : request.heads / request.kv_heads;
  const std::int64_t group_bytes = plan.pooled_bytes_per_head + heads_per_group * plan.scores_bytes_per_head;
  std::int64_t at_once = std::clamp<std::int64_t>(
      plan.request.scratch_bytes / std::max<std::int64_t>(1, plan.pooled_bytes_per_head), 1, groups);
  if (request.memory_limit) {
    if (group_bytes > *request.memory_limit) {
      return fail("one key head's selection takes " + std::to_string(group_bytes) + " bytes, over the limit of " +
                  std::to_string(*request.memory_limit));
    }
    at_once = std::min(groups, *request.memory_limit / group_bytes);
    plan.request.scratch_bytes = at_once * plan.pooled_bytes_per_head;
  }
  plan.chunks = (groups + at_once - 1) / at_once;
  plan.chunk_heads = at_once * heads_per_group;
  plan.chunk_bytes = at_once * group_bytes;
  return {};
}

}  // namespace

Expected<SparsePlan> plan_sparse(const SparsePlanRequest& asked) {
  const auto request = checked(asked);
  if (!request) return fail(request.error());
  SparsePlan plan;
  plan.tokens = request->tokens;
  plan.grid = {request->tokens, request->tokens, request->block_q, request->block_kv};
  plan.request.budget = request->budget;
  plan.request.head_shared = request->head_shared;
  const auto view = [&](std::int64_t heads) {
    return TensorView::contiguous({request->batch, heads, request->tokens, request->head_dim}, DType::bfloat16);
  };
  SelectorRequest one_group = plan.request;
  one_group.scratch_bytes = 1;
  const SelectionCost cost = selection_cost(view(request->heads), view(request->kv_heads), plan.grid, one_group);
  plan.scores_bytes = cost.scores_bytes;
  plan.keep_bytes = cost.keep_bytes;
  plan.pooled_bytes_per_head = cost.scratch_bytes;
  plan.heads = request->batch * (request->head_shared ? 1 : request->heads);
  plan.scores_bytes_per_head = cost.scores_bytes / plan.heads;
  if (const auto chunked = chunk(*request, plan); !chunked) return fail(chunked.error());

  if (request->layout) plan.mismatch = layout_mismatch(*request->layout, request->tokens);
  if (!plan.mismatch.empty()) {
    plan.warnings.push_back(plan.mismatch +
                            "; planned with the declared spans, while a running stage that finds this would treat the "
                            "whole sequence as image and pin no text");
  }
  if (std::string low = floor_warning(request->budget); !low.empty()) plan.warnings.push_back(std::move(low));
  const LayoutTiles marks(request->layout ? *request->layout : prefix_layout(request->tokens), plan.grid);
  const SelectionTotals totals = selection_totals(marks, request->budget);
  plan.kept_tiles = totals.kept;
  plan.pinned_tiles = totals.pinned;
  plan.density = totals.density();
  plan.covers_all = totals.covers_all;
  describe_marks(marks, plan);
  return plan;
}

Expected<ChunkCheck> check_chunks(const SparsePlanRequest& asked, const SparsePlan& plan, std::int64_t available) {
  const auto request = checked(asked);
  if (!request) return fail(request.error());
  AttentionCall call;
  call.query =
      TensorView::contiguous({request->batch, request->heads, request->tokens, request->head_dim}, DType::bfloat16);
  call.key =
      TensorView::contiguous({request->batch, request->kv_heads, request->tokens, request->head_dim}, DType::bfloat16);
  call.value = TensorView::contiguous({request->batch, request->kv_heads, request->tokens, 1}, DType::bfloat16);
  call.enable_gqa = request->heads != request->kv_heads;
  const std::int64_t whole_bytes =
      request->batch * request->kv_heads * plan.pooled_bytes_per_head + 2 * plan.keep_bytes;
  if (const auto fits = check_memory(call, whole_bytes, available); !fits) return fail(fits.error());
  StructureOptions structure;
  if (request->layout && plan.mismatch.empty()) structure.layout = request->layout;
  const auto tensors = structured_tensors(call, structure);
  if (!tensors) return fail(tensors.error());
  const LayoutTiles marks(request->layout ? *request->layout : prefix_layout(request->tokens), plan.grid);
  const auto choose = [&](std::int64_t scratch_bytes, BlockSelection& selection) -> Expected<double> {
    SelectorRequest selector = plan.request;
    selector.scratch_bytes = scratch_bytes;
    selector.force = true;
    selector.parallel_for = on_all_threads();
    const auto begin = std::chrono::steady_clock::now();
    const auto selected = select_tiles(tensors->call.query, tensors->call.key, marks, selector, selection);
    if (!selected) return fail(selected.error());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  BlockSelection planned;
  BlockSelection whole;
  const auto planned_seconds = choose(plan.request.scratch_bytes, planned);
  if (!planned_seconds) return fail(planned_seconds.error());
  const auto whole_seconds = choose(std::numeric_limits<std::int64_t>::max(), whole);
  if (!whole_seconds) return fail(whole_seconds.error());
  ChunkCheck check;
  check.identical = planned.keep == whole.keep;
  check.kept = std::count(planned.keep.begin(), planned.keep.end(), std::uint8_t{1});
  check.seconds = *planned_seconds;
  check.whole_seconds = *whole_seconds;
  return check;
}

Expected<std::int64_t> read_bytes(std::string_view text) {
  const std::string whole(text);
  const auto wrong = [&] {
    return fail("\"" + whole + "\" is no amount of memory; write 10MB, 512MiB, 2GiB or bytes");
  };
  double amount = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc{} || !std::isfinite(amount)) return wrong();
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{{{"", 1.0},
                                                                       {"B", 1.0},
                                                                       {"kB", 1e3},
                                                                       {"KB", 1e3},
                                                                       {"MB", 1e6},
                                                                       {"GB", 1e9},
                                                                       {"KiB", 0x1p10},
                                                                       {"MiB", 0x1p20},
                                                                       {"GiB", 0x1p30}}};
  for (const auto& [name, bytes] : kUnits) {
    if (text != name) continue;
    const double value = std::floor(amount * bytes);
    if (value < 1.0 || value > 0x1p60) return wrong();
    return static_cast<std::int64_t>(value);
  }
  return wrong();
}

Expected<std::pair<std::int64_t, std::int64_t>> read_block(std::string_view text) {
  const std::size_t by = text.find('x');
  const auto number = [](std::string_view part, std::int64_t& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc{} && end == part.data() + part.size() && value >= 1 && value <= 1 << 20;
  };
  std::pair<std::int64_t, std::int64_t> block;
  if (by == std::string_view::npos || !number(text.substr(0, by), block.first) ||
      !number(text.substr(by + 1), block.second)) {
    return fail("the block \"" + std::string(text) +
                "\" does not read; write query tokens x key tokens of a tile, such as 128x64");
  }
  return block;
}

}  // namespace attn::app
