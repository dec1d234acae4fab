// SPDX-License-Identifier: GPL-3.0-or-later
// Scores of tile pairs, the best of each row, and what is kept as ascending lists.
#pragma once

#include "backends/cuda/arithmetic/selection.h"
#include "backends/cuda/kernels/tasks.h"

namespace attn::cuda {

struct SelectParams {
  const float* queries = nullptr;  ///< means (batch, heads or 1, query_tiles, channels)
  const float* keys = nullptr;     ///< means (batch, kv_heads or 1, channels, key_tiles)
  int heads = 1;                   ///< that select
  int kv_heads = 1;                ///< that have pooled keys
  int channels = 0;
  int query_tiles = 0;
  int key_tiles = 0;
  int block_q = kQueryTile;
  int block_kv = kKeyTile;
  const std::uint8_t* marks = nullptr;
  int mark_heads = 1;
  float budget = 0.0F;
  const float* budgets = nullptr;
  int steps = 0;
  const int* step = nullptr;
  TileLists lists;
  std::uint8_t* keep = nullptr;
};

/// The most key tiles that fit a block's shared memory on every architecture.
inline constexpr int kMostKeyTiles = 8192;

/// Block (query tile, head, batch). Each thread scores every 256th key tile, then owns a run of neighbouring ones.
struct SelectKernel {
  using Params = SelectParams;
  static constexpr const char* kName = "select";
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  static constexpr int kBins = 256;
  static constexpr std::uint32_t kScanAt = 0;  ///< two rows of a sum over all threads
  static constexpr std::uint32_t kBinAt = 2 * kThreads * 4;
  static constexpr std::uint32_t kFoundAt =
      kBinAt + kBins * 4;  ///< what one thread tells all: a digit, and how many above
  static constexpr std::uint32_t kQueryAt = kFoundAt + 16;
  static std::size_t shared_bytes(const Params& p) {
    return kQueryAt + static_cast<std::size_t>(p.channels + p.key_tiles) * 4;
  }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    Row<Block> row(block, p);
    row.run();
  }

 private:
  template <class Block>
  class Row {
    template <class T>
    using PerThread = typename Block::template PerThread<T>;

   public:
    ATTN_KERNEL Row(Block& block, const Params& p)
        : block_(block),
          p_(p),
          count_(block),
          before_(block),
          scores_at_(kQueryAt + static_cast<std::uint32_t>(p.channels) * 4) {
      const std::int64_t head = static_cast<std::int64_t>(block.z()) * p.heads + block.y();
      const int kv_head = block.y() / (p.heads / p.kv_heads);
      query_ = p.queries + (head * p.query_tiles + block.x()) * p.channels;
      keys_ = p.keys + (static_cast<std::int64_t>(block.z()) * p.kv_heads + kv_head) * p.channels * p.key_tiles;
      list_ = static_cast<std::int64_t>(block.z()) * p.lists.batch_step +
              static_cast<std::int64_t>(block.y()) * p.lists.head_step + block.x();
      keep_ = (head * p.query_tiles + block.x()) * p.key_tiles;
      const int mark_head = p.mark_heads == 1 ? 0 : block.y();
      marks_ = (static_cast<std::int64_t>(mark_head) * p.query_tiles + block.x()) * p.key_tiles;
      run_length_ = (p.key_tiles + kThreads - 1) / kThreads;
    }

    ATTN_KERNEL void run() {
      score();
      const int candidates = total_of([&](int tile) { return mark(tile) == Mark::candidate; });
      const int wanted = kept_of(candidates, budget());
      find_threshold(candidates, wanted);
      keep();
    }

   private:
    [[nodiscard]] ATTN_KERNEL float budget() const {
      if (p_.budgets == nullptr || p_.steps < 1) return p_.budget;
      const int step = p_.step == nullptr ? 0 : *p_.step;
      return p_.budgets[step < 0 ? 0 : step < p_.steps ? step : p_.steps - 1];
    }
    [[nodiscard]] ATTN_KERNEL Mark mark(int tile) const {
      if (p_.marks != nullptr) return static_cast<Mark>(p_.marks[marks_ + tile]);
      return on_diagonal(block_.x(), tile, p_.block_q, p_.block_kv) ? Mark::diagonal : Mark::candidate;
    }
    [[nodiscard]] ATTN_KERNEL std::uint32_t rank(int thread, int tile) const {
      return block_.template load<std::uint32_t>(thread, scores_at_ + static_cast<std::uint32_t>(tile) * 4);
    }

    /// Each score is summed over the channels in order, products and sums apart, as select_tiles() does it.
    ATTN_KERNEL void score() {
      block_.each([&](int thread) {
        for (int d = thread; d < p_.channels; d += kThreads) {
          block_.store(thread, kQueryAt + static_cast<std::uint32_t>(d) * 4, query_[d]);
        }
      });
      block_.sync();
      block_.each([&](int thread) {
        for (int tile = thread; tile < p_.key_tiles; tile += kThreads) {
          float total = 0.0F;
          for (int d = 0; d < p_.channels; ++d) {
            const float query = block_.template load<float>(thread, kQueryAt + static_cast<std::uint32_t>(d) * 4);
            total = sum(total, product(query, keys_[static_cast<std::int64_t>(d) * p_.key_tiles + tile]));
          }
          block_.store(thread, scores_at_ + static_cast<std::uint32_t>(tile) * 4, rank_of(total));
        }
      });
      block_.sync();
    }

    // --- sums over all threads, in the order of their tiles
    // -----------------------------------------------------------

    template <class F>
    ATTN_KERNEL void each_own(int thread, F f) const {
      const int first = thread * run_length_;
      const int last = first + run_length_ < p_.key_tiles ? first + run_length_ : p_.key_tiles;
      for (int tile = first; tile < last; ++tile) f(tile);
    }

    /// before_ = the sum of count_ over the threads before; returns the sum over all.
    ATTN_KERNEL int scan() {
      const auto at = [](int row, int thread) {
        return kScanAt + static_cast<std::uint32_t>(row * kThreads + thread) * 4;
      };
      block_.each([&](int thread) { block_.store(thread, at(0, thread), count_(thread)); });
      block_.sync();
      int row = 0;
      for (int distance = 1; distance < kThreads; distance *= 2) {
        block_.each([&](int thread) {
          const int own = block_.template load<int>(thread, at(row, thread));
          const int other = thread >= distance ? block_.template load<int>(thread, at(row, thread - distance)) : 0;
          block_.store(thread, at(1 - row, thread), own + other);
        });
        block_.sync();
        row = 1 - row;
      }
      block_.each(
          [&](int thread) { before_(thread) = block_.template load<int>(thread, at(row, thread)) - count_(thread); });
      const int all = block_.template load<int>(kThreads - 1, at(row, kThreads - 1));
      block_.sync();
      return all;
    }
    template <class F>
    ATTN_KERNEL int total_of(F counts) {
      block_.each([&](int thread) {
        count_(thread) = 0;
        each_own(thread, [&](int tile) { count_(thread) += counts(tile) ? 1 : 0; });
      });
      return scan();
    }

    // --- the best
    // -----------------------------------------------------------------------------------------------------

    /// Digit by digit from the highest: the rank of the last tile that is kept, and how many of that rank are.
    ATTN_KERNEL void find_threshold(int candidates, int wanted) {
      threshold_ = 0;
      equals_ = wanted;
      if (wanted == 0 || wanted == candidates) {
        all_or_none_ = true;
        all_ = wanted > 0;
        return;
      }
      for (int shift = 24; shift >= 0; shift -= 8) {
        count_digits(shift);
        block_.each([&](int thread) {
          // Threads are digits, from the highest on.
          count_(thread) = block_.template load<int>(thread, bin_at(kBins - 1 - thread));
        });
        (void)scan();
        block_.each([&](int thread) {
          if (before_(thread) >= equals_ || before_(thread) + count_(thread) < equals_) return;
          block_.store(thread, kFoundAt, kBins - 1 - thread);
          block_.store(thread, kFoundAt + 4, before_(thread));
        });
        block_.sync();
        threshold_ |= block_.template load<std::uint32_t>(0, kFoundAt) << shift;
        equals_ -= block_.template load<int>(0, kFoundAt + 4);
        block_.sync();
      }
    }
    ATTN_KERNEL void count_digits(int shift) {
      block_.each([&](int thread) { block_.store(thread, bin_at(thread), 0); });
      block_.sync();
      const std::uint32_t known = shift == 24 ? 0U : 0xFFFFFFFFU << (shift + 8);
      block_.each([&](int thread) {
        for (int tile = thread; tile < p_.key_tiles; tile += kThreads) {
          const std::uint32_t own = rank(thread, tile);
          if (mark(tile) != Mark::candidate || (own & known) != (threshold_ & known)) continue;
          block_.add(thread, bin_at(static_cast<int>(own >> shift & 0xFFU)), 1);
        }
      });
      block_.sync();
    }
    [[nodiscard]] static ATTN_HD std::uint32_t bin_at(int digit) {
      return kBinAt + static_cast<std::uint32_t>(digit) * 4;
    }

    /// Equal ranks by lower index: `earlier` of them come before.
    [[nodiscard]] ATTN_KERNEL bool kept(int thread, int tile, int earlier) const {
      const Mark own = mark(tile);
      if (own != Mark::candidate) return own != Mark::dropped;
      if (all_or_none_) return all_;
      const std::uint32_t score = rank(thread, tile);
      return score > threshold_ || (score == threshold_ && earlier < equals_);
    }
    [[nodiscard]] ATTN_KERNEL bool is_equal(int thread, int tile) const {
      return !all_or_none_ && mark(tile) == Mark::candidate && rank(thread, tile) == threshold_;
    }

    ATTN_KERNEL void keep() {
      PerThread<int> equals_before(block_);
      block_.each([&](int thread) {
        count_(thread) = 0;
        each_own(thread, [&](int tile) { count_(thread) += is_equal(thread, tile) ? 1 : 0; });
      });
      (void)scan();
      block_.each([&](int thread) {
        equals_before(thread) = before_(thread);
        int earlier = before_(thread);
        count_(thread) = 0;
        each_own(thread, [&](int tile) {
          count_(thread) += kept(thread, tile, earlier) ? 1 : 0;
          earlier += is_equal(thread, tile) ? 1 : 0;
        });
      });
      const int all = scan();
      block_.each([&](int thread) {
        int* list = p_.lists.tiles + list_ * p_.lists.key_tiles + before_(thread);
        int earlier = equals_before(thread);
        each_own(thread, [&](int tile) {
          const bool is_kept = kept(thread, tile, earlier);
          earlier += is_equal(thread, tile) ? 1 : 0;
          if (is_kept) *list++ = tile;
          if (p_.keep != nullptr) p_.keep[keep_ + tile] = is_kept ? 1 : 0;
        });
        if (thread == 0) p_.lists.counts[list_] = all;
      });
    }

    Block& block_;
    const Params& p_;
    PerThread<int> count_;
    PerThread<int> before_;
    const float* query_ = nullptr;
    const float* keys_ = nullptr;
    std::int64_t list_ = 0;
    std::int64_t keep_ = 0;
    std::int64_t marks_ = 0;
    std::uint32_t scores_at_;
    int run_length_ = 0;
    std::uint32_t threshold_ = 0;
    int equals_ = 0;
    bool all_or_none_ = false;
    bool all_ = false;
  };
};

struct ListParams {
  const std::uint8_t* keep = nullptr;  ///< (rows, key_tiles)
  int* tiles = nullptr;
  int* counts = nullptr;
  int rows = 0;
  int key_tiles = 0;
};

/// Keep bytes into lists: a thread takes a row, which is short and read once.
struct ListKernel {
  using Params = ListParams;
  static constexpr const char* kName = "list tiles";
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 4;
  static std::size_t shared_bytes(const Params&) { return 0; }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    block.each([&](int thread) {
      const int row = block.x() * kThreads + thread;
      if (row >= p.rows) return;
      const std::int64_t first = static_cast<std::int64_t>(row) * p.key_tiles;
      int count = 0;
      for (int tile = 0; tile < p.key_tiles; ++tile) {
        if (p.keep[first + tile] != 0) p.tiles[first + count++] = tile;
      }
      p.counts[row] = count;
    });
  }
};

}  // namespace attn::cuda
