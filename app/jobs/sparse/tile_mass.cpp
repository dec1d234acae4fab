// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/tile_mass.h"

#include "backends/simd/tile_math.h"
#include "core/tensor/host_buffer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::app {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

std::int64_t padded(std::int64_t columns) noexcept { return (columns + 15) / 16 * 16; }

void load_row(const TensorView& view, std::int64_t offset, float factor, float* out, std::int64_t step) {
  for (std::int64_t d = 0; d < view.size(-1); ++d) {
    out[d * step] = load_element(view, offset + d * view.step(-1)) * factor;
  }
}

/// What the mask adds to the scores of one query row.
void load_mask(const TensorView& mask, std::int64_t batch, std::int64_t head, std::int64_t row,
               std::vector<float>& out) {
  const auto at = [&mask](int dim, std::int64_t index) { return mask.size(dim) == 1 ? 0 : index * mask.step(dim); };
  const std::int64_t base = at(-4, batch) + at(-3, head) + at(-2, row);
  for (std::size_t j = 0; j < out.size(); ++j) {
    const float value = load_element(mask, base + at(-1, static_cast<std::int64_t>(j)));
    out[j] = mask.dtype == DType::boolean ? (value != 0.0F ? 0.0F : kMinusInfinity) : value;
  }
}

/// The keys of one head as (head_dim, columns) blocks, one per key tile.
struct PackedKeys {
  std::int64_t columns = 0;  ///< of a block, padded
  std::int64_t depth = 0;
  std::vector<float> blocks;

  PackedKeys(std::int64_t head_dim, const TileGrid& grid)
      : columns(padded(grid.block_kv)),
        depth(head_dim),
        blocks(static_cast<std::size_t>(columns * head_dim * grid.key_tiles())) {}

  [[nodiscard]] const float* block(std::int64_t tile) const noexcept { return blocks.data() + tile * columns * depth; }
  void load(const TensorView& key, std::int64_t base, const TileGrid& grid, std::int64_t tile) {
    const std::int64_t first = tile * grid.block_kv;
    const std::int64_t count = std::min(grid.block_kv, grid.key_tokens - first);
    float* const to = blocks.data() + tile * columns * depth;
    for (std::int64_t j = 0; j < count; ++j) load_row(key, base + (first + j) * key.step(-2), 1.0F, to + j, columns);
  }
};

/// One thread's memory and work: the masses of a query tile.
class RowWorker {
 public:
  RowWorker(const AttentionCall& call, const TileGrid& grid, const PackedKeys& keys)
      : call_(call),
        grid_(grid),
        keys_(keys),
        queries_(static_cast<std::size_t>(grid.block_q * keys.depth)),
        scores_(static_cast<std::size_t>(grid.block_q * keys.columns)),
        states_(static_cast<std::size_t>(grid.block_q * grid.key_tiles())),
        mask_(call.attn_mask ? static_cast<std::size_t>(grid.key_tokens) : 0) {}

  void run(std::int64_t batch, std::int64_t head, std::int64_t tile, float* mass) {
    const std::int64_t first = tile * grid_.block_q;
    const std::int64_t rows = std::min(grid_.block_q, grid_.query_tokens - first);
    const TensorView& query = call_.query;
    const std::int64_t base = batch * query.step(-4) + head * query.step(-3);
    const auto scale = static_cast<float>(call_.effective_scale());
    for (std::int64_t r = 0; r < rows; ++r) {
      load_row(query, base + (first + r) * query.step(-2), scale, queries_.data() + r * keys_.depth, 1);
    }
    if (call_.attn_mask) {
      // A mask row is read once and used for one row at a time.
      for (std::int64_t r = 0; r < rows; ++r) {
        load_mask(*call_.attn_mask, batch, head, first + r, mask_);
        score(r, 1);
      }
    } else {
      score(0, rows);
    }
    std::fill_n(mass, grid_.key_tiles(), 0.0F);
    spread_.assign(static_cast<std::size_t>(grid_.key_tiles()), 0.0);
    for (std::int64_t r = 0; r < rows; ++r) spread(r);
    for (std::size_t j = 0; j < spread_.size(); ++j) mass[j] = static_cast<float>(spread_[j]);
  }

 private:
  void score(std::int64_t first_row, std::int64_t rows) {
    const TileMath& math = tile_math();
    for (std::int64_t j = 0; j < grid_.key_tiles(); ++j) {
      const std::int64_t first_key = j * grid_.block_kv;
      const std::int64_t count = std::min(grid_.block_kv, grid_.key_tokens - first_key);
      math.multiply(queries_.data() + first_row * keys_.depth, keys_.depth, keys_.block(j), keys_.columns,
                    scores_.data(), keys_.columns, rows, keys_.depth, keys_.columns, false);
      for (std::int64_t r = 0; r < rows; ++r) {
        float* const row = scores_.data() + r * keys_.columns;
        for (std::int64_t c = 0; c < count && !mask_.empty(); ++c) {
          row[c] += mask_[static_cast<std::size_t>(first_key + c)];
        }
        std::fill(row + count, row + keys_.columns, kMinusInfinity);
        RowState& state = states_[static_cast<std::size_t>((first_row + r) * grid_.key_tiles() + j)];
        state = {kMinusInfinity, 0.0F};
        static_cast<void>(math.softmax_row(row, keys_.columns, &state));
      }
    }
  }

  /// Brings the tiles of a row to their common maximum and adds their shares of the row's sum.
  void spread(std::int64_t row) {
    const std::int64_t tiles = grid_.key_tiles();
    const RowState* const states = states_.data() + row * tiles;
    float maximum = kMinusInfinity;
    for (std::int64_t j = 0; j < tiles; ++j) maximum = std::max(maximum, states[j].maximum);
    if (maximum == kMinusInfinity) return;
    shares_.resize(static_cast<std::size_t>(tiles));
    double sum = 0.0;
    for (std::int64_t j = 0; j < tiles; ++j) {
      const float best = states[j].maximum;
      // Equal maxima are asked for first: infinity less infinity is no number.
      const double factor = best == maximum ? 1.0
                            : best == kMinusInfinity
                                ? 0.0
                                : std::exp(static_cast<double>(best) - static_cast<double>(maximum));
      shares_[static_cast<std::size_t>(j)] = factor * static_cast<double>(states[j].sum);
      sum += shares_[static_cast<std::size_t>(j)];
    }
    for (std::size_t j = 0; j < shares_.size(); ++j) spread_[j] += shares_[j] / sum;
  }

  const AttentionCall& call_;
  const TileGrid& grid_;
  const PackedKeys& keys_;
  std::vector<float> queries_;
  std::vector<float> scores_;
  std::vector<RowState> states_;
  std::vector<float> mask_;
  std::vector<double> shares_;
  std::vector<double> spread_;
};

void each(const ParallelFor& parallel_for, std::int64_t n,
          const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (n == 0) return;
  if (parallel_for) {
    parallel_for(n, body);
  } else {
    body(0, n);
  }
}

}  // namespace

Expected<TileMass> TileMass::measure(const AttentionCall& call, const TileGrid& grid, const ParallelFor& parallel_for,
                                     std::stop_token stop) {
  const TensorView& key = call.key;
  if (call.query.rank != 4 || key.rank != 4) {
    return fail("attention mass is measured for tensors of rank 4: query " + shape_text(call.query.sizes()) + ", key " +
                shape_text(key.sizes()));
  }
  if (!call.query.has_data() || !key.has_data()) return fail("attention mass needs a query and a key with data");
  if (call.is_causal)
    return fail("attention mass is not measured for causal calls: the sparse stage leaves them dense");
  TileMass mass;
  mass.batch_ = call.batch();
  mass.heads_ = call.heads();
  mass.query_tiles_ = grid.query_tiles();
  mass.key_tiles_ = grid.key_tiles();
  mass.mass_.resize(static_cast<std::size_t>(mass.batch_ * mass.heads_ * mass.query_tiles_ * mass.key_tiles_));
  PackedKeys keys(call.head_dim(), grid);
  const std::int64_t group = call.kv_heads() == 0 ? 0 : mass.heads_ / call.kv_heads();
  for (std::int64_t at = 0; at < mass.batch_ * call.kv_heads(); ++at) {
    const std::int64_t batch = at / call.kv_heads();
    const std::int64_t kv_head = at % call.kv_heads();
    each(parallel_for, grid.key_tiles(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t base = batch * key.step(-4) + kv_head * key.step(-3);
      for (std::int64_t tile = begin; tile < end; ++tile) keys.load(key, base, grid, tile);
    });
    each(parallel_for, group * mass.query_tiles_, [&](std::int64_t begin, std::int64_t end) {
      RowWorker worker(call, grid, keys);
      for (std::int64_t n = begin; n < end && !stop.stop_requested(); ++n) {
        const std::int64_t head = kv_head * group + n / mass.query_tiles_;
        const std::int64_t tile = n % mass.query_tiles_;
        const std::int64_t row = (batch * mass.heads_ + head) * mass.query_tiles_ + tile;
        worker.run(batch, head, tile, mass.mass_.data() + row * mass.key_tiles_);
      }
    });
    if (stop.stop_requested()) break;
  }
  return mass;
}

std::int64_t TileMass::bytes_for(const AttentionCall& call, const TileGrid& grid) noexcept {
  const std::int64_t tiles = call.batch() * call.heads() * grid.query_tiles() * grid.key_tiles();
  const std::int64_t keys = padded(grid.block_kv) * call.head_dim() * grid.key_tiles();
  return (tiles + keys) * static_cast<std::int64_t>(sizeof(float));
}

double TileMass::kept_by(const BlockSelection& selection) const noexcept {
  double kept = 0.0;
  double all = 0.0;
  for (std::int64_t n = 0; n < batch_ * heads_ * query_tiles_; ++n) {
    const std::int64_t head = n / query_tiles_;
    for (std::int64_t j = 0; j < key_tiles_; ++j) {
      const auto mass = static_cast<double>(mass_[static_cast<std::size_t>(n * key_tiles_ + j)]);
      all += mass;
      if (selection.kept(head / heads_, head % heads_, n % query_tiles_, j)) kept += mass;
    }
  }
  return all > 0.0 ? kept / all : 1.0;
}

}  // namespace attn::app
