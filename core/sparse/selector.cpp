// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/selector.h"

#include "core/sparse/tile_pooling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace attn {
namespace {

constexpr std::int64_t kLanes = 8;  ///< key tiles scored side by side
constexpr std::int64_t kRows = 4;   ///< query tiles scored at a time against them

/// Heads that read the same pooled keys: a key head of one batch item, or all of them when the selection is shared.
struct HeadGroups {
  std::int64_t per_batch = 0;
  std::int64_t query_heads = 0;  ///< selections that a group makes
  std::int64_t panels = 0;       ///< of kLanes key tiles
  std::int64_t head_dim = 0;

  [[nodiscard]] std::int64_t floats() const noexcept { return panels * kLanes * head_dim; }
};

HeadGroups groups_of(const TensorView& query, const TensorView& key, const TileGrid& grid, bool shared) noexcept {
  const std::int64_t kv_heads = key.size(-3);
  HeadGroups groups;
  groups.per_batch = shared ? 1 : kv_heads;
  groups.query_heads = shared || kv_heads == 0 ? 1 : query.size(-3) / kv_heads;
  groups.panels = (grid.key_tiles() + kLanes - 1) / kLanes;
  groups.head_dim = key.size(-1);
  return groups;
}

std::int64_t groups_at_once(const HeadGroups& groups, std::int64_t all, std::int64_t scratch_bytes) noexcept {
  const std::int64_t bytes = groups.floats() * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(bytes == 0 ? all : scratch_bytes / bytes, 1, std::max<std::int64_t>(all, 1));
}

/// Maps a score to an integer that falls as the score rises, with the index below it: the least are the best.
std::uint64_t rank_key(float score, std::int64_t index) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 counts as 0
  const std::uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  const std::uint32_t order = std::isnan(score) ? 0U : ascending;
  return (static_cast<std::uint64_t>(~order) << 32) | static_cast<std::uint64_t>(index);
}

/// Scores of kRows query tiles against all key tiles. Each score is summed over head_dim in order, whatever the width
/// of the vectors, so it is the same on every machine.
void score_rows(std::span<const float> queries, std::span<const float> panels, std::int64_t head_dim,
                std::span<float> scores) noexcept {
  const auto panel_count = static_cast<std::int64_t>(panels.size()) / (kLanes * std::max<std::int64_t>(head_dim, 1));
  const std::int64_t row_length = panel_count * kLanes;
  for (std::int64_t panel = 0; panel < panel_count; ++panel) {
    std::array<std::array<float, kLanes>, kRows> sums{};
    const float* keys = panels.data() + panel * kLanes * head_dim;
    for (std::int64_t d = 0; d < head_dim; ++d, keys += kLanes) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        const float query = queries[static_cast<std::size_t>(r * head_dim + d)];
        auto& row = sums[static_cast<std::size_t>(r)];
        for (std::int64_t lane = 0; lane < kLanes; ++lane) row[static_cast<std::size_t>(lane)] += query * keys[lane];
      }
    }
    for (std::int64_t r = 0; r < kRows; ++r) {
      std::copy_n(sums[static_cast<std::size_t>(r)].begin(), kLanes,
                  scores.begin() + static_cast<std::ptrdiff_t>(r * row_length + panel * kLanes));
    }
  }
}

class Selection {
 public:
  Selection(const TensorView& query, const TensorView& key, const TileMarks& marks, const SelectorRequest& request,
            BlockSelection& out)
      : query_(query),
        key_(key),
        marks_(marks),
        request_(request),
        out_(out),
        groups_(groups_of(query, key, marks.grid(), request.head_shared)) {}

  void run() {
    out_.keep.assign(static_cast<std::size_t>(out_.batch * out_.heads * out_.query_tiles * out_.key_tiles), 0);
    const std::int64_t all = out_.batch * groups_.per_batch;
    const std::int64_t chunk = groups_at_once(groups_, all, request_.scratch_bytes);
    panels_.resize(static_cast<std::size_t>(std::min(chunk, all) * groups_.floats()));
    for (std::int64_t first = 0; first < all; first += chunk) choose(first, std::min(chunk, all - first));
  }

 private:
  void each(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) const {
    if (n == 0) return;
    if (request_.parallel_for) {
      request_.parallel_for(n, body);
    } else {
      body(0, n);
    }
  }

  void choose(std::int64_t first, std::int64_t count) {
    const std::int64_t tiles = out_.key_tiles;
    each(count * tiles, [&](std::int64_t begin, std::int64_t end) { pool_keys(first, begin, end); });
    const std::int64_t blocks = (out_.query_tiles + kRows - 1) / kRows;
    each(count * groups_.query_heads * blocks, [&](std::int64_t begin, std::int64_t end) {
      Worker worker(*this);
      for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t member = at / blocks;
        worker.choose(first + member / groups_.query_heads, member / groups_.query_heads, member % groups_.query_heads,
                      at % blocks * kRows);
      }
    });
  }

  /// Pools key tiles [begin, end) of the groups from `first` on into panels of (head_dim, kLanes).
  void pool_keys(std::int64_t first, std::int64_t begin, std::int64_t end) {
    TilePooler pooler(key_, out_.block_kv);
    std::vector<float> mean(static_cast<std::size_t>(groups_.head_dim));
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t slot = at / out_.key_tiles;
      const std::int64_t tile = at % out_.key_tiles;
      const std::int64_t group = first + slot;
      const std::int64_t head = request_.head_shared ? 0 : group % groups_.per_batch;
      const std::int64_t last_head = request_.head_shared ? key_.size(-3) : head + 1;
      pooler.pool(group / groups_.per_batch, head, last_head, tile, mean);
      float* const panel = panels_.data() + slot * groups_.floats() + tile / kLanes * kLanes * groups_.head_dim;
      for (std::size_t d = 0; d < mean.size(); ++d)
        panel[static_cast<std::int64_t>(d) * kLanes + tile % kLanes] = mean[d];
    }
  }

  /// What one range of rows needs for itself.
  class Worker {
   public:
    explicit Worker(const Selection& owner)
        : owner_(owner),
          pooler_(owner.query_, owner.out_.block_q),
          queries_(static_cast<std::size_t>(kRows * owner.groups_.head_dim)),
          scores_(static_cast<std::size_t>(kRows * owner.groups_.panels * kLanes)),
          marks_(static_cast<std::size_t>(owner.out_.key_tiles)) {
      ranks_.reserve(marks_.size());
    }

    /// `group` counts from the first of the call, `slot` from the first whose keys are pooled now.
    void choose(std::int64_t group, std::int64_t slot, std::int64_t member, std::int64_t first_row) {
      const HeadGroups& groups = owner_.groups_;
      const bool shared = owner_.request_.head_shared;
      const std::int64_t batch = group / groups.per_batch;
      const std::int64_t head = shared ? 0 : group % groups.per_batch * groups.query_heads + member;
      const std::int64_t last_head = shared ? owner_.query_.size(-3) : head + 1;
      const std::int64_t rows = std::min(kRows, owner_.out_.query_tiles - first_row);
      const auto dims = static_cast<std::size_t>(groups.head_dim);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r) * dims;
        pooler_.pool(batch, head, last_head, first_row + r, std::span(queries_).subspan(at, dims));
      }
      const auto panels =
          std::span(owner_.panels_)
              .subspan(static_cast<std::size_t>(slot * groups.floats()), static_cast<std::size_t>(groups.floats()));
      score_rows(queries_, panels, groups.head_dim, scores_);
      for (std::int64_t r = 0; r < rows; ++r) choose_row(batch, head, first_row + r, r);
    }

   private:
    void choose_row(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t r) {
      BlockSelection& out = owner_.out_;
      const float* const scores = scores_.data() + r * owner_.groups_.panels * kLanes;
      std::uint8_t* const keep = out.keep.data() + ((batch * out.heads + head) * out.query_tiles + row) * out.key_tiles;
      owner_.marks_.mark_row(head, row, marks_);
      ranks_.clear();
      for (std::size_t j = 0; j < marks_.size(); ++j) {
        keep[j] = marks_[j] == TileMark::pinned || marks_[j] == TileMark::diagonal ? 1 : 0;
        if (marks_[j] == TileMark::candidate) ranks_.push_back(rank_key(scores[j], static_cast<std::int64_t>(j)));
      }
      const std::int64_t count = keep_count(static_cast<std::int64_t>(ranks_.size()), owner_.request_.budget);
      if (count < static_cast<std::int64_t>(ranks_.size())) {
        std::nth_element(ranks_.begin(), ranks_.begin() + count, ranks_.end());
      }
      for (std::int64_t n = 0; n < count; ++n) keep[ranks_[static_cast<std::size_t>(n)] & 0xFFFFFFFFU] = 1;
    }

    const Selection& owner_;
    TilePooler pooler_;
    std::vector<float> queries_;
    std::vector<float> scores_;
    std::vector<TileMark> marks_;
    std::vector<std::uint64_t> ranks_;
  };

  const TensorView& query_;
  const TensorView& key_;
  const TileMarks& marks_;
  const SelectorRequest& request_;
  BlockSelection& out_;
  HeadGroups groups_;
  std::vector<float> panels_;
};

Expected<void> check_shapes(const TensorView& query, const TensorView& key) {
  const auto shapes = [&] { return "query " + shape_text(query.sizes()) + ", key " + shape_text(key.sizes()); };
  if (query.rank < 2 || query.rank > 4 || key.rank < 2 || key.rank > 4) {
    return fail("tiles are selected for tensors of rank 2 to 4: " + shapes());
  }
  if (query.size(-1) != key.size(-1)) return fail("query and key must have one head_dim: " + shapes());
  if (query.size(-4) != key.size(-4)) return fail("query and key must have one batch size: " + shapes());
  const std::int64_t kv_heads = key.size(-3);
  if (kv_heads == 0 ? query.size(-3) != 0 : query.size(-3) % kv_heads != 0) {
    return fail("query heads must be a multiple of key heads: " + shapes());
  }
  return {};
}

Expected<void> check_request(const TensorView& query, const TensorView& key, const TileMarks& marks,
                             const SelectorRequest& request) {
  if (auto shapes = check_shapes(query, key); !shapes) return shapes;
  const TileGrid& grid = marks.grid();
  if (grid.query_tokens != query.size(-2) || grid.key_tokens != key.size(-2)) {
    return fail("the tile marks are for " + std::to_string(grid.query_tokens) + " x " +
                std::to_string(grid.key_tokens) + " tokens, the call has " + std::to_string(query.size(-2)) + " x " +
                std::to_string(key.size(-2)));
  }
  const std::int64_t heads = request.head_shared ? 1 : query.size(-3);
  if (marks.heads() != 1 && marks.heads() != heads) {
    return fail("the tile marks are for " + std::to_string(marks.heads()) + " heads; the selection has " +
                std::to_string(heads) + ", so 1 or that many would be right");
  }
  if (std::isnan(request.budget)) return fail("the budget is no number; a share from 0 to 1 would be right");
  return {};
}

}  // namespace

SelectionCost selection_cost(const TensorView& query, const TensorView& key, const TileGrid& grid,
                             const SelectorRequest& request) noexcept {
  const HeadGroups groups = groups_of(query, key, grid, request.head_shared);
  const std::int64_t all = query.size(-4) * groups.per_batch;
  const std::int64_t at_once = groups_at_once(groups, all, request.scratch_bytes);
  SelectionCost cost;
  cost.query_tiles = grid.query_tiles();
  cost.key_tiles = grid.key_tiles();
  cost.keep_bytes = all * groups.query_heads * cost.query_tiles * cost.key_tiles;
  cost.scores_bytes = cost.keep_bytes * static_cast<std::int64_t>(sizeof(float));
  cost.scratch_bytes = std::min(at_once, all) * groups.floats() * static_cast<std::int64_t>(sizeof(float));
  cost.chunks = (all + at_once - 1) / at_once;
  return cost;
}

Expected<bool> select_tiles(const TensorView& query, const TensorView& key, const TileMarks& marks,
                            const SelectorRequest& request, BlockSelection& selection) {
  if (const auto checked = check_request(query, key, marks, request); !checked) {
    return tl::unexpected<std::string>(checked.error());
  }
  const TileGrid& grid = marks.grid();
  selection.batch = query.size(-4);
  selection.heads = request.head_shared ? 1 : query.size(-3);
  selection.query_tiles = grid.query_tiles();
  selection.key_tiles = grid.key_tiles();
  selection.block_q = grid.block_q;
  selection.block_kv = grid.block_kv;
  selection.budget = request.budget;
  const SelectionTotals totals = selection_totals(marks, request.budget);
  selection.density = totals.density();
  selection.keep.clear();
  if (totals.covers_all && !request.force) return false;
  if (query.has_data() && key.has_data()) Selection(query, key, marks, request, selection).run();
  return true;
}

Expected<void> choose_planned_tiles(const AttentionCall& call, const ParallelFor& parallel_for,
                                    BlockSelection& selection) {
  if (selection.has_tiles()) return {};
  if (!selection.rule) return fail("the selection has neither tiles nor a rule to choose them by");
  SelectorRequest request;
  request.budget = selection.budget;
  request.head_shared = selection.rule.head_shared;
  request.force = true;
  request.parallel_for = parallel_for;
  const auto chosen = select_tiles(call.query, call.key, *selection.rule.marks, request, selection);
  return chosen ? Expected<void>() : fail(chosen.error());
}

}  // namespace attn
