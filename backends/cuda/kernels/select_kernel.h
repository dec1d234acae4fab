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
inline constexpr int kMostKeyTiles = 5120;
inline constexpr int kMostPooledChannels = 256;

/// Block (kRows query tiles, head, batch), which share the reading of the pooled keys. Each thread scores every 256th
/// key tile, then, row by row, owns a run of neighbouring ones.
struct SelectKernel {
  using Params = SelectParams;
  static constexpr const char* kName = "select";
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  static constexpr int kBins = 256;
  static constexpr int kRows = 4;
  static constexpr std::uint32_t kScanAt = 0;  ///< two rows of a sum over all threads
  static constexpr std::uint32_t kBinAt = 2 * kThreads * 4;
  static constexpr std::uint32_t kFoundAt =
      kBinAt + kBins * 4;  ///< what one thread tells all: a digit, and how many above
  static constexpr std::uint32_t kQueryAt = kFoundAt + 16;
  static constexpr std::size_t kMostSharedBytes =
      kQueryAt + static_cast<std::size_t>(kRows) * (kMostPooledChannels + kMostKeyTiles) * 4;
  static std::size_t shared_bytes(const Params& p) {
    return kQueryAt + static_cast<std::size_t>(kRows) * static_cast<std::size_t>(p.channels + p.key_tiles) * 4;
  }

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    Rows<Block> rows(block, p);
    rows.run();
  }

 private:
  template <class Block>
  class Rows {
    template <class T>
    using PerThread = typename Block::template PerThread<T>;

   public:
    ATTN_KERNEL Rows(Block& block, const Params& p)
        : block_(block),
          p_(p),
          count_(block),
          before_(block),
          scores_at_(kQueryAt + static_cast<std::uint32_t>(kRows * p.channels) * 4) {
      const int kv_head = block.y() / (p.heads / p.kv_heads);
      head_ = static_cast<std::int64_t>(block.z()) * p.heads + block.y();
      first_row_ = block.x() * kRows;
      rows_ = p.query_tiles - first_row_ < kRows ? p.query_tiles - first_row_ : kRows;
      keys_ = p.keys + (static_cast<std::int64_t>(block.z()) * p.kv_heads + kv_head) * p.channels * p.key_tiles;
      run_length_ = (p.key_tiles + kThreads - 1) / kThreads;
    }

    ATTN_KERNEL void run() {
      score();
      for (int row = 0; row < rows_; ++row) {
        row_ = row;
        const int candidates = total_of([&](int tile) { return mark(tile) == Mark::candidate; });
        const int wanted = kept_of(candidates, budget());
        find_threshold(candidates, wanted);
        keep();
      }
    }

   private:
    [[nodiscard]] ATTN_KERNEL float budget() const {
      if (p_.budgets == nullptr || p_.steps < 1) return p_.budget;
      const int step = p_.step == nullptr ? 0 : *p_.step;
      return p_.budgets[step < 0 ? 0 : step < p_.steps ? step : p_.steps - 1];
    }
    [[nodiscard]] ATTN_KERNEL Mark mark(int tile) const {
      if (p_.marks != nullptr) {
        const std::int64_t head = p_.mark_heads == 1 ? 0 : block_.y();
        return static_cast<Mark>(p_.marks[(head * p_.query_tiles + first_row_ + row_) * p_.key_tiles + tile]);
      }
      return on_diagonal(first_row_ + row_, tile, p_.block_q, p_.block_kv) ? Mark::diagonal : Mark::candidate;
    }
    [[nodiscard]] ATTN_KERNEL std::uint32_t rank(int thread, int tile) const {
      return block_.template load<std::uint32_t>(thread, score_at(row_, tile));
    }

    [[nodiscard]] ATTN_KERNEL std::uint32_t score_at(int row, int tile) const {
      return scores_at_ + static_cast<std::uint32_t>(row * p_.key_tiles + tile) * 4;
    }
    [[nodiscard]] static ATTN_HD std::uint32_t query_at(int row, int channel) {
      return kQueryAt + static_cast<std::uint32_t>(channel * kRows + row) * 4;
    }

    /// Each score is summed over the channels in order, products and sums apart, as select_tiles() does it.
    ATTN_KERNEL void score() {
      const float* queries = p_.queries + (head_ * p_.query_tiles + first_row_) * p_.channels;
      block_.each([&](int thread) {
        for (int i = thread; i < kRows * p_.channels; i += kThreads) {
          const int row = i % kRows;
          const float query = row < rows_ ? queries[row * p_.channels + i / kRows] : 0.0F;
          block_.store(thread, query_at(row, i / kRows), query);
        }
      });
      block_.sync();
      block_.each([&](int thread) {
        for (int tile = thread; tile < p_.key_tiles; tile += kThreads) {
          float total[kRows] = {};
          for (int d = 0; d < p_.channels; ++d) {
            const float key = keys_[static_cast<std::int64_t>(d) * p_.key_tiles + tile];
            ATTN_UNROLL
            for (int row = 0; row < kRows; ++row) {
              total[row] = sum(total[row], product(block_.template load<float>(thread, query_at(row, d)), key));
            }
          }
          ATTN_UNROLL
          for (int row = 0; row < kRows; ++row) block_.store(thread, score_at(row, tile), rank_of(total[row]));
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
      all_or_none_ = false;
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
      const int row = first_row_ + row_;
      const std::int64_t list_row = static_cast<std::int64_t>(block_.z()) * p_.lists.batch_step +
                                    static_cast<std::int64_t>(block_.y()) * p_.lists.head_step + row;
      const std::int64_t keep_row = (head_ * p_.query_tiles + row) * p_.key_tiles;
      block_.each([&](int thread) {
        int* list = p_.lists.tiles + list_row * p_.lists.key_tiles + before_(thread);
        int earlier = equals_before(thread);
        each_own(thread, [&](int tile) {
          const bool is_kept = kept(thread, tile, earlier);
          earlier += is_equal(thread, tile) ? 1 : 0;
          if (is_kept) *list++ = tile;
          if (p_.keep != nullptr) p_.keep[keep_row + tile] = is_kept ? 1 : 0;
        });
        if (thread == 0) p_.lists.counts[list_row] = all;
      });
    }

    Block& block_;
    const Params& p_;
    PerThread<int> count_;
    PerThread<int> before_;
    const float* keys_ = nullptr;
    std::int64_t head_ = 0;
    int first_row_ = 0;
    int rows_ = 0;
    int row_ = 0;  ///< of kRows
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
  static constexpr std::size_t kMostSharedBytes = 0;
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
