// SPDX-License-Identifier: GPL-3.0-or-later
// Attention on tensor cores through mma.sync, ldmatrix and cp.async: runs on every architecture from 8.0 on. One source
// for INT8 and for 16-bit scores, whose rows have the same layout in bytes.
#pragma once

#include "backends/cuda/arithmetic/factors.h"
#include "backends/cuda/arithmetic/online_softmax.h"
#include "backends/cuda/arithmetic/tile_addresses.h"
#include "backends/cuda/grid/fragments.h"
#include "backends/cuda/kernels/attention_params.h"
#include "backends/cuda/kernels/attention_registers.h"

#include <type_traits>

namespace attn::cuda {

/// Four warps of 32 query rows, or eight of 16, walk over key tiles of 64, two of which are in shared
/// memory. While a tile's scores and values are multiplied, the next one is copied.
///
/// kWide: rows of more channels than a tile. Scores are summed over parts of kScoreBytes, whose queries and keys take
/// turns in shared memory, and a block computes kChannels of the output: scores are computed once for each such part.
template <int kChannels, class ScoreNumbers, class ValueNumbers, bool kMasked, bool kWide = false>
struct AttentionKernel {
  using Params = AttentionParams;
  static constexpr bool kInt8 = std::is_same_v<ScoreNumbers, Int8Numbers>;
  static constexpr const char* kName = kWide   ? (kInt8 ? "wide int8 attention" : "wide exact attention")
                                       : kInt8 ? "int8 attention"
                                               : "exact attention";
  /// Of 16 rows, a warp's. Two read keys and values from shared memory half as often; one leaves registers for the
  /// addresses of a mask, and for 16-bit queries of 128 channels.
  static constexpr int kRowTiles = kMasked || kWide || (!kInt8 && kChannels == 128) ? 1 : 2;
  static constexpr int kMinBlocks = kRowTiles;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kThreads = kQueryTile / kWarpRows * kLanes;
  static constexpr int kKeyColumns = kKeyTile / 8;  ///< products of 8 columns that make a tile's scores
  static constexpr int kOutColumns = kChannels / 8;
  static constexpr int kScoreBytes = kInt8 || kWide ? kChannels : 2 * kChannels;  ///< of a query or key row
  static constexpr int kValueBytes = 2 * kChannels;
  static constexpr std::uint32_t kQueryStage = kQueryTile * kScoreBytes;
  static constexpr std::uint32_t kKeyStage = kKeyTile * kScoreBytes;
  static constexpr std::uint32_t kValueStage = kKeyTile * kValueBytes;
  static constexpr std::uint32_t kFactorStage = kKeyTile * 4;
  static constexpr std::uint32_t kQueryAt = 0;
  static constexpr std::uint32_t kKeyAt = kQueryAt + (kWide ? 2 : 1) * kQueryStage;
  static constexpr std::uint32_t kValueAt = kKeyAt + 2 * kKeyStage;
  static constexpr std::uint32_t kFactorAt = kValueAt + (kWide ? 1 : 2) * kValueStage;
  static constexpr std::uint32_t kRowFactorAt = kFactorAt + (kInt8 ? 2 * kFactorStage : 0);
  static constexpr std::uint32_t kSharedBytes = kRowFactorAt + (kInt8 ? kQueryTile * 4 : 0);
  static constexpr std::size_t kMostSharedBytes = kSharedBytes;
  static std::size_t shared_bytes(const Params&) { return kSharedBytes; }

  using Sum = typename ScoreNumbers::Sum;
  using Sums = ProductSums<Sum, kRowTiles, kKeyColumns>;
  using Scores = ProductSums<float, kRowTiles, kKeyColumns>;
  using Output = ProductSums<float, kRowTiles, kOutColumns>;
  using Probabilities = RowOperands<kRowTiles, kKeyTile / 16>;  ///< of the product with the values
  using Rows = RowState<kRowTiles>;

  template <class Block>
  static ATTN_KERNEL void run(Block& block, const Params& p) {
    Walk<Block> walk(block, p);
    if constexpr (kWide) {
      walk.run_wide();
    } else {
      walk.run();
    }
  }

 private:
  template <class Block>
  class Walk {
    template <class T>
    using PerThread = typename Block::template PerThread<T>;

   public:
    ATTN_KERNEL Walk(Block& block, const Params& p)
        : block_(block), p_(p), output_(block), rows_(block), scores_(block), probabilities_(block) {
      kv_head_ = block.y() / (p.shape.heads / p.shape.kv_heads);
      first_row_ = block.x() * kQueryTile;
      batch_ = kWide ? block.z() / p.value_chunks : block.z();
      first_column_ = kWide ? block.z() % p.value_chunks * kChannels : 0;
      count_tiles();
    }

    ATTN_KERNEL void run() {
      int tile = tile_at(0);
      copy_query();
      copy_keys(0, tile);
      block_.commit();
      copy_values(0, tile);
      block_.commit();
      start_rows();
      int next = tile_at(1);
      for (int i = 0; i < tiles_; ++i) {
        const int stage = i % 2;
        block_.template wait<1>();
        block_.sync();  // the keys are there, and nobody reads the other stage any more
        if (i + 1 < tiles_) copy_keys(1 - stage, next);
        block_.commit();
        if (i + 1 < tiles_) copy_values(1 - stage, next);
        block_.commit();
        multiply_keys(stage, tile);
        tile = next;
        next = tile_at(i + 2);  // asked for early: the copies need it at once
        soften();
        block_.template wait<2>();
        block_.sync();  // the values are there
        multiply_values(stage);
      }
      finish();
    }

    ATTN_KERNEL void run_wide() {
      const int chunks = p_.score_chunks;
      int tile = tile_at(0);
      if constexpr (kInt8) copy_query_factors();
      if (tiles_ > 0) copy_chunk(0, tile, 0);
      block_.commit();
      start_rows();
      PerThread<Sums> sums(block_);
      int stage = 0;
      for (int i = 0; i < tiles_; ++i) {
        const int next = tile_at(i + 1);
        start_sums(sums);
        for (int chunk = 0; chunk < chunks; ++chunk) {
          block_.template wait<0>();
          block_.sync();  // this part is there, and nobody reads the other stage or the last tile's values any more
          if (chunk + 1 < chunks) {
            copy_chunk(1 - stage, tile, chunk + 1);
          } else if (i + 1 < tiles_) {
            copy_chunk(1 - stage, next, 0);
          }
          if (chunk == 0) {
            if constexpr (kInt8) copy_key_factors(0, tile);
            copy_values(0, tile);
          }
          block_.commit();
          add_products(kQueryAt + static_cast<std::uint32_t>(stage) * kQueryStage, stage, sums);
          stage = 1 - stage;
        }
        if (chunks == 1) {  // else factors and values came with a part of the scores
          block_.template wait<0>();
          block_.sync();
        }
        block_.each([&](int thread) { take_scores(thread, 0, tile, sums(thread)); });
        soften();
        multiply_values(0);
        tile = next;
      }
      finish();
    }

   private:
    // --- which tiles ------------------------------------------------------------------------------------------------

    ATTN_KERNEL void count_tiles() {
      tiles_ = (p_.shape.key_tokens + kKeyTile - 1) / kKeyTile;
      if (p_.is_causal) {
        const int reached = (first_row_ + kQueryTile - 1) / kKeyTile + 1;
        tiles_ = reached < tiles_ ? reached : tiles_;
      }
      if (p_.selection.tiles == nullptr) return;
      const std::int64_t list = static_cast<std::int64_t>(batch_) * p_.selection.batch_step +
                                static_cast<std::int64_t>(block_.y()) * p_.selection.head_step + block_.x();
      list_ = p_.selection.tiles + list * p_.selection.key_tiles;
      tiles_ = p_.selection.counts[list];
    }
    [[nodiscard]] ATTN_KERNEL int tile_at(int i) const {
      if (list_ == nullptr) return i;
      return i < tiles_ ? list_[i] : 0;
    }

    // --- copies -----------------------------------------------------------------------------------------------------

    template <int kRows, int kRowBytes>
    ATTN_KERNEL void copy_rows(std::uint32_t at, const unsigned char* from, const CopyRows& rows, int first,
                               int tokens) {
      constexpr int kChunks = kRowBytes / 16;
      constexpr int kRowsAtOnce = kThreads / kChunks;  // a multiple of 8: the place of a chunk repeats
      static_assert(kRowsAtOnce % 8 == 0);
      block_.each_anew([&](int thread) {
        const int chunk = thread % kChunks;
        const int left = rows.row_bytes - chunk * 16;
        const int bytes = left < 0 ? 0 : left > 16 ? 16 : left;
        int row = first + thread / kChunks;
        const unsigned char* source = from + row * rows.row_step + chunk * 16;
        const std::uint32_t to = at + chunk_at<kRowBytes>(thread / kChunks, chunk);
        const auto copy = [&](auto bytes_of_row) {
          ATTN_UNROLL
          for (int pass = 0; pass < kRows / kRowsAtOnce; ++pass) {
            block_.copy16(thread, to + static_cast<std::uint32_t>(pass * kRowsAtOnce * kRowBytes), source,
                          bytes_of_row(row));
            row += kRowsAtOnce;
            source += kRowsAtOnce * rows.row_step;
          }
        };
        if (rows.row_bytes >= kRowBytes && first + kRows <= tokens) {  // the same for all threads
          copy([](int) { return 16; });
        } else {
          copy([&](int at_row) { return at_row < tokens ? bytes : 0; });
        }
      });
    }
    ATTN_KERNEL void copy_query() {
      copy_rows<kQueryTile, kScoreBytes>(kQueryAt, query_head(), p_.query, first_row_, p_.shape.query_tokens);
      if constexpr (kInt8) copy_query_factors();
    }
    ATTN_KERNEL void copy_query_factors() {
      const std::int64_t head = static_cast<std::int64_t>(batch_) * p_.shape.heads + block_.y();
      copy_floats<kQueryTile>(kRowFactorAt, p_.query_factors + head * p_.padded_queries + first_row_);
    }
    ATTN_KERNEL void copy_key_factors(int stage, int tile) {
      const std::int64_t head = static_cast<std::int64_t>(batch_) * p_.shape.kv_heads + kv_head_;
      copy_floats<kKeyTile>(kFactorAt + static_cast<std::uint32_t>(stage) * kFactorStage,
                            p_.key_factors + head * p_.padded_keys + tile * kKeyTile);
    }
    template <int kCount>
    ATTN_KERNEL void copy_floats(std::uint32_t at, const float* from) {
      block_.each_anew([&](int thread) {
        if (thread < kCount / 4)
          block_.copy16(thread, at + static_cast<std::uint32_t>(thread * 16), from + thread * 4, 16);
      });
    }
    [[nodiscard]] ATTN_KERNEL const unsigned char* query_head() const {
      return p_.query.data + batch_ * p_.query.batch_step + block_.y() * p_.query.head_step;
    }
    [[nodiscard]] ATTN_KERNEL const unsigned char* head_of(const CopyRows& rows) const {
      return rows.data + batch_ * rows.batch_step + kv_head_ * rows.head_step;
    }
    /// Rows without their first `bytes`.
    [[nodiscard]] static ATTN_HD CopyRows behind(CopyRows rows, int bytes) {
      rows.row_bytes -= bytes;
      return rows;
    }
    /// A part of the queries and of a tile's keys.
    ATTN_KERNEL void copy_chunk(int stage, int tile, int chunk) {
      const int bytes = chunk * kScoreBytes;
      copy_rows<kQueryTile, kScoreBytes>(kQueryAt + static_cast<std::uint32_t>(stage) * kQueryStage,
                                         query_head() + bytes, behind(p_.query, bytes), first_row_,
                                         p_.shape.query_tokens);
      copy_rows<kKeyTile, kScoreBytes>(kKeyAt + static_cast<std::uint32_t>(stage) * kKeyStage, head_of(p_.key) + bytes,
                                       behind(p_.key, bytes), tile * kKeyTile, p_.shape.key_tokens);
    }
    ATTN_KERNEL void copy_keys(int stage, int tile) {
      const std::uint32_t at = kKeyAt + static_cast<std::uint32_t>(stage) * kKeyStage;
      copy_rows<kKeyTile, kScoreBytes>(at, head_of(p_.key), p_.key, tile * kKeyTile, p_.shape.key_tokens);
      if constexpr (kInt8) copy_key_factors(stage, tile);
    }
    ATTN_KERNEL void copy_values(int stage, int tile) {
      const std::uint32_t at = kValueAt + static_cast<std::uint32_t>(stage) * kValueStage;
      const int bytes = 2 * first_column_;
      copy_rows<kKeyTile, kValueBytes>(at, head_of(p_.value) + bytes, behind(p_.value, bytes), tile * kKeyTile,
                                       p_.shape.key_tokens);
    }

    // --- scores -----------------------------------------------------------------------------------------------------

    [[nodiscard]] static ATTN_HD std::uint32_t moved(std::uint32_t place, int k, int rows_further) {
      return (place ^ static_cast<std::uint32_t>(kMmaRowBytes * k)) + static_cast<std::uint32_t>(rows_further);
    }

    ATTN_KERNEL void start_rows() {
      block_.each([&](int thread) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int half = 0; half < 2; ++half) {
            rows_(thread).maximum[i][half] = minus_infinity();
            rows_(thread).total[i][half] = 0.0F;
          }
          ATTN_UNROLL
          for (int n = 0; n < kOutColumns; ++n) {
            ATTN_UNROLL
            for (int e = 0; e < 4; ++e) output_(thread).of[i][n][e] = 0.0F;
          }
        }
      });
    }
    /// What turns a row's scores into base 2.
    [[nodiscard]] ATTN_KERNEL float row_factor(int thread, int i, int half) {
      if constexpr (kInt8) {
        const int row = row_of(thread, i, half) - first_row_;
        return block_.template load<float>(thread, kRowFactorAt + static_cast<std::uint32_t>(row * 4));
      } else {
        // Its size alone: a negative scale turns the scores around instead.
        return larger(::fabsf(p_.scale), kLeastRowFactor);
      }
    }
    [[nodiscard]] ATTN_KERNEL int row_of(int thread, int row_tile, int half) const {
      return first_row_ + thread / kLanes * kWarpRows + row_tile * 16 + half * 8 + quad_of(thread % kLanes);
    }
    [[nodiscard]] static ATTN_HD int column_of(int thread, int n, int e) {
      return n * 8 + sum_column(thread % kLanes, e);
    }

    ATTN_KERNEL void start_sums(PerThread<Sums>& sums) {
      block_.each([&](int thread) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int n = 0; n < kKeyColumns; ++n) {
            ATTN_UNROLL
            for (int e = 0; e < 4; ++e) sums(thread).of[i][n][e] = kInt8 ? static_cast<Sum>(kSumStart) : Sum{};
          }
        }
      });
    }
    ATTN_KERNEL void multiply_keys(int stage, int tile) {
      PerThread<Sums> sums(block_);
      start_sums(sums);
      add_products(kQueryAt, stage, sums);
      block_.each([&](int thread) { take_scores(thread, stage, tile, sums(thread)); });
    }
    ATTN_KERNEL void add_products(std::uint32_t queries, int stage, PerThread<Sums>& sums) {
      const std::uint32_t keys = kKeyAt + static_cast<std::uint32_t>(stage) * kKeyStage;
      PerThread<LanePlaces> places(block_);
      block_.each_anew([&](int thread) {
        const int lane = thread % kLanes;
        const int row = thread / kLanes * kWarpRows + lane % 16;
        places(thread).query = queries + chunk_at<kScoreBytes>(row, lane / 16);
        places(thread).key = keys + chunk_at<kScoreBytes>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
      });
      PerThread<RowOperand<kRowTiles>> query(block_);
      PerThread<ColumnOperands> key(block_);
      ATTN_UNROLL
      for (int k = 0; k < kScoreBytes / kMmaRowBytes; ++k) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          block_.load_matrices([&](int thread) { return query(thread).of[i]; },
                               [&](int thread) { return moved(places(thread).query, k, i * 16 * kScoreBytes); });
        }
        ATTN_UNROLL
        for (int pair = 0; pair < kKeyColumns / 2; ++pair) {
          block_.load_matrices([&](int thread) { return key(thread).of; },
                               [&](int thread) { return moved(places(thread).key, k, pair * 16 * kScoreBytes); });
          ATTN_UNROLL
          for (int n = 0; n < 2; ++n) {
            ATTN_UNROLL
            for (int i = 0; i < kRowTiles; ++i) {
              block_.template mma<ScoreNumbers>([&](int thread) {
                return LaneProduct<Sum>{sums(thread).of[i][2 * pair + n], query(thread).of[i], key(thread).of + 2 * n};
              });
            }
          }
        }
      }
    }

    /// Sums into scores: of base 2 where there is a mask, else still to be multiplied by the row's factor.
    ATTN_KERNEL void take_scores(int thread, int stage, int tile, const Sums& sums) {
      Scores& scores = scores_(thread);
      ATTN_UNROLL
      for (int n = 0; n < kKeyColumns; ++n) {
        float by[2] = {1.0F, 1.0F};
        if constexpr (kInt8) {
          const std::uint32_t at = kFactorAt + static_cast<std::uint32_t>(stage) * kFactorStage;
          const Factors both =
              block_.template load<Factors>(thread, at + static_cast<std::uint32_t>(column_of(thread, n, 0) * 4));
          by[0] = both.of[0];
          by[1] = both.of[1];
        }
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int e = 0; e < 4; ++e) {
            if constexpr (kInt8) {
              scores.of[i][n][e] = sum_as_float(sums.of[i][n][e]) * by[e % 2];
            } else {
              scores.of[i][n][e] = sums.of[i][n][e];
            }
          }
        }
      }
      if (!kInt8 && p_.scale < 0.0F) {
        change(scores, [](float score, int, int, int) { return -score; });
      }
      if constexpr (kMasked) add_mask(thread, tile, scores);
      const int behind = p_.shape.key_tokens - tile * kKeyTile;
      if (behind < kKeyTile) {
        change(scores, [&](float score, int, int n, int e) {
          return column_of(thread, n, e) < behind ? score : minus_infinity();
        });
      }
      if (p_.is_causal && (tile + 1) * kKeyTile > first_row_) {
        change(scores, [&](float score, int i, int n, int e) {
          return tile * kKeyTile + column_of(thread, n, e) <= row_of(thread, i, e / 2) ? score : minus_infinity();
        });
      }
    }
    struct alignas(8) Factors {
      float of[2];
    };

    template <class Change>
    static ATTN_KERNEL void change(Scores& scores, Change to) {
      ATTN_UNROLL
      for (int i = 0; i < kRowTiles; ++i) {
        ATTN_UNROLL
        for (int n = 0; n < kKeyColumns; ++n) {
          ATTN_UNROLL
          for (int e = 0; e < 4; ++e) scores.of[i][n][e] = to(scores.of[i][n][e], i, n, e);
        }
      }
    }

    /// The mask's dtype is asked once for a tile and not for every score.
    ATTN_KERNEL void add_mask(int thread, int tile, Scores& scores) {
      const void* data = p_.mask.data;
      const DType dtype = p_.mask.dtype;
      if (dtype == DType::boolean) {
        mask_by(thread, tile, scores, [data](float scaled, std::int64_t at) {
          return static_cast<const std::uint8_t*>(data)[at] != 0 ? scaled : minus_infinity();
        });
      } else if (dtype == DType::float32) {
        mask_by(thread, tile, scores, [data](float scaled, std::int64_t at) {
          return add_bias(scaled, static_cast<const float*>(data)[at]);
        });
      } else {
        mask_by(thread, tile, scores, [data, dtype](float scaled, std::int64_t at) {
          return add_bias(scaled, load_as_float(data, dtype, at));
        });
      }
    }
    template <class Mask>
    ATTN_KERNEL void mask_by(int thread, int tile, Scores& scores, Mask mask) {
      const std::int64_t head = batch_ * p_.mask.stride[0] + block_.y() * p_.mask.stride[1];
      change(scores, [&](float score, int i, int n, int e) {
        const float scaled = score * row_factor(thread, i, e / 2);
        const int row = row_of(thread, i, e / 2);
        const int key = tile * kKeyTile + column_of(thread, n, e);
        if (row >= p_.shape.query_tokens || key >= p_.shape.key_tokens) return scaled;
        return mask(scaled, head + row * p_.mask.stride[2] + key * p_.mask.stride[3]);
      });
    }

    // --- softmax ----------------------------------------------------------------------------------------------------

    ATTN_KERNEL void soften() {
      block_.each([&](int thread) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int half = 0; half < 2; ++half) {
            float top = minus_infinity();
            ATTN_UNROLL
            for (int n = 0; n < kKeyColumns; ++n) {
              top = ::fmaxf(top, ::fmaxf(scores_(thread).of[i][n][2 * half], scores_(thread).of[i][n][2 * half + 1]));
            }
            rows_(thread).top[i][half] = top;
          }
        }
      });
      ATTN_UNROLL
      for (int i = 0; i < 2 * kRowTiles; ++i) {
        block_.template reduce<4>([&](int thread) -> float& { return rows_(thread).top[i / 2][i % 2]; },
                                  [](float a, float b) { return ::fmaxf(a, b); });
      }
      block_.each([&](int thread) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int half = 0; half < 2; ++half) soften_row(thread, i, half);
        }
      });
    }

    ATTN_KERNEL void soften_row(int thread, int i, int half) {
      Rows& rows = rows_(thread);
      Scores& scores = scores_(thread);
      const float factor = kMasked ? 1.0F : row_factor(thread, i, half);
      const float rescale = move_maximum(rows.maximum[i][half], rows.top[i][half] * factor);
      const float shift = shift_of(rows.maximum[i][half]);
      float total = 0.0F;
      ATTN_UNROLL
      for (int n = 0; n < kKeyColumns; ++n) {
        const float low = exp2_of(fused(scores.of[i][n][2 * half], factor, -shift));
        const float high = exp2_of(fused(scores.of[i][n][2 * half + 1], factor, -shift));
        total += low + high;
        probabilities_(thread).of[i][n / 2][n % 2 * 2 + half] = pack(ValueNumbers{}, low, high);
      }
      rows.total[i][half] = fused(rows.total[i][half], rescale, total);
      if (rescale == 1.0F) return;
      ATTN_UNROLL
      for (int n = 0; n < kOutColumns; ++n) {
        output_(thread).of[i][n][2 * half] *= rescale;
        output_(thread).of[i][n][2 * half + 1] *= rescale;
      }
    }
    [[nodiscard]] static ATTN_KERNEL std::uint32_t pack(HalfNumbers, float low, float high) {
      return pack_half(low, high);
    }
    [[nodiscard]] static ATTN_KERNEL std::uint32_t pack(BfloatNumbers, float low, float high) {
      return pack_bfloat(low, high);
    }

    // --- values -----------------------------------------------------------------------------------------------------

    ATTN_KERNEL void multiply_values(int stage) {
      const std::uint32_t values = kValueAt + static_cast<std::uint32_t>(stage) * kValueStage;
      PerThread<std::uint32_t> place(block_);
      block_.each_anew([&](int thread) {
        place(thread) = values + chunk_at<kValueBytes>(thread % kLanes % 16, thread % kLanes / 16);
      });
      PerThread<ColumnOperands> value(block_);
      ATTN_UNROLL
      for (int k = 0; k < kKeyTile / 16; ++k) {
        ATTN_UNROLL
        for (int pair = 0; pair < kOutColumns / 2; ++pair) {
          block_.load_transposed([&](int thread) { return value(thread).of; },
                                 [&](int thread) { return moved(place(thread), pair, k * 16 * kValueBytes); });
          ATTN_UNROLL
          for (int n = 0; n < 2; ++n) {
            ATTN_UNROLL
            for (int i = 0; i < kRowTiles; ++i) {
              block_.template mma<ValueNumbers>([&](int thread) {
                return LaneProduct<float>{output_(thread).of[i][2 * pair + n], probabilities_(thread).of[i][k],
                                          value(thread).of + 2 * n};
              });
            }
          }
        }
      }
    }

    // --- output -----------------------------------------------------------------------------------------------------

    ATTN_KERNEL void finish() {
      block_.template wait<0>();
      ATTN_UNROLL
      for (int i = 0; i < 2 * kRowTiles; ++i) {
        block_.template reduce<4>([&](int thread) -> float& { return rows_(thread).total[i / 2][i % 2]; },
                                  [](float a, float b) { return a + b; });
      }
      block_.each([&](int thread) {
        ATTN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          ATTN_UNROLL
          for (int half = 0; half < 2; ++half) {
            if (row_of(thread, i, half) < p_.shape.query_tokens) write_row(thread, i, half);
          }
        }
      });
    }

    ATTN_KERNEL void write_row(int thread, int i, int half) {
      const int row = row_of(thread, i, half);
      const float total = rows_(thread).total[i][half];
      const float by = normaliser(total);
      const std::int64_t start = batch_ * p_.output.stride[0] + block_.y() * p_.output.stride[1] +
                                 static_cast<std::int64_t>(row) * p_.output.stride[2];
      ATTN_UNROLL
      for (int n = 0; n < kOutColumns; ++n) {
        const int column = first_column_ + column_of(thread, n, 0);
        const float low = output_(thread).of[i][n][2 * half] * by;
        const float high = output_(thread).of[i][n][2 * half + 1] * by;
        if (p_.pairs && column + 1 < p_.shape.value_dim) {
          auto* to = static_cast<std::uint16_t*>(const_cast<void*>(p_.output.data)) + start + column;
          *reinterpret_cast<std::uint32_t*>(to) = pack_pair(p_.output.dtype, low, high);
        } else {
          store_column(start, column, low);
          store_column(start, column + 1, high);
        }
      }
      if (p_.log_sum_exp == nullptr || first_column_ != 0 || in_quad(thread % kLanes) != 0) return;
      const std::int64_t head = static_cast<std::int64_t>(batch_) * p_.shape.heads + block_.y();
      float sum = log_sum_exp(rows_(thread).maximum[i][half], total);
      if (kInt8 && p_.mean_products != nullptr) {
        sum += p_.mean_products[head * p_.padded_queries + row] * (p_.scale * kLn2);
      }
      p_.log_sum_exp[head * p_.shape.query_tokens + row] = sum;
    }
    ATTN_KERNEL void store_column(std::int64_t start, int column, float value) {
      if (column >= p_.shape.value_dim) return;
      store_float(const_cast<void*>(p_.output.data), p_.output.dtype, start + column * p_.output.stride[3], value);
    }

    Block& block_;
    const Params& p_;
    PerThread<Output> output_;
    PerThread<Rows> rows_;
    PerThread<Scores> scores_;
    PerThread<Probabilities> probabilities_;
    int batch_ = 0;
    int kv_head_ = 0;
    const int* list_ = nullptr;
    int first_row_ = 0;
    int first_column_ = 0;  ///< of the output
    int tiles_ = 0;
  };
};

}  // namespace attn::cuda
