// SPDX-License-Identifier: GPL-3.0-or-later
// What holds for every selection, on random geometries.
#include "core/layout/layout_reader.h"
#include "core/sparse/radial.h"
#include "core/sparse/selector.h"
#include "core/tensor/host_buffer.h"
#include "support/oracle.h"

#include <sys/mman.h>
#include <unistd.h>

#include <QtTest>
#include <array>
#include <random>
#include <thread>

using namespace attn;

namespace {

using Random = std::mt19937_64;  // its sequence is fixed by the standard, unlike the distributions

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A random layout of a sequence: most often spans that tile it, sometimes gaps, overlaps and ends past it.
TokenLayout random_layout(Random& random, std::int64_t tokens) {
  static const std::array<std::string, 8> kinds{"image", "image", "image", "video", "video", "text", "pad", "cond"};
  TokenLayout layout{"random", tokens, {}};
  const bool faulty = pick(random, 0, 4) == 0;
  for (std::int64_t at = 0; at < tokens;) {
    const std::int64_t length = pick(random, 1, std::max<std::int64_t>(tokens / 2, 1));
    const std::string& kind = kinds[static_cast<std::size_t>(pick(random, 0, 7))];
    const std::int64_t end = faulty ? at + length : std::min(at + length, tokens);
    layout.spans.push_back({kind, at, end});
    at = faulty ? at + pick(random, 1, 2 * length) : end;
  }
  return layout;
}

struct Geometry {
  std::int64_t batch, kv_heads, heads, query_tokens, key_tokens, head_dim;
  TileGrid grid;
  TokenLayout layout;
  double budget;
  bool head_shared;

  explicit Geometry(Random& random)
      : batch(pick(random, 1, 2)),
        kv_heads(pick(random, 1, 3)),
        heads(kv_heads * pick(random, 1, 3)),
        query_tokens(pick(random, 1, 700)),
        key_tokens(pick(random, 0, 2) == 0 ? pick(random, 1, 700) : query_tokens),
        head_dim(pick(random, 1, 9)),
        grid{query_tokens, key_tokens, 1LL << pick(random, 3, 7), 1LL << pick(random, 3, 7)},
        layout(random_layout(random, std::max(query_tokens, key_tokens))),
        budget(static_cast<double>(pick(random, 0, 99)) / 100.0),
        head_shared(pick(random, 0, 3) == 0) {}
};

HostTensor random_tensor(Random& random, std::initializer_list<std::int64_t> shape, bool coarse) {
  HostTensor tensor(shape, DType::float32);
  // Few distinct values make many equal scores, whose order then matters.
  const std::int64_t most = coarse ? 1 : 1 << 20;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i) {
    tensor.as<float>()[i] = static_cast<float>(pick(random, -most, most)) / static_cast<float>(most);
  }
  return tensor;
}

/// Splits the work into ranges of `grain` and runs them on `threads` threads, last range first.
ParallelFor backwards(std::int64_t grain, int threads) {
  return [=](std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
    const std::int64_t ranges = (n + grain - 1) / grain;
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([=, &body] {
        for (std::int64_t r = ranges - 1 - t; r >= 0; r -= threads) body(r * grain, std::min(n, (r + 1) * grain));
      });
    }
    for (std::thread& worker : workers) worker.join();
  };
}

/// Token by token, as the rule is stated: whether a token is sparsifiable, padding.
struct TokenFlags {
  std::vector<bool> sparse;
  std::vector<bool> padding;
  TokenFlags(const TokenLayout& layout, std::int64_t tokens)
      : sparse(static_cast<std::size_t>(tokens)), padding(static_cast<std::size_t>(tokens)) {
    for (const TokenSpan& span : layout.spans) {
      for (std::int64_t t = span.start; t < std::min({span.end, tokens, layout.length}); ++t) {
        if (is_sparsifiable(span.kind)) sparse[static_cast<std::size_t>(t)] = true;
        if (is_dropped(span.kind)) padding[static_cast<std::size_t>(t)] = true;
      }
    }
  }
  static bool all(const std::vector<bool>& flags, std::int64_t tile, std::int64_t block) {
    const auto begin = static_cast<std::size_t>(tile * block);
    const std::size_t end = std::min(flags.size(), begin + static_cast<std::size_t>(block));
    return std::all_of(flags.begin() + static_cast<std::ptrdiff_t>(begin),
                       flags.begin() + static_cast<std::ptrdiff_t>(end), [](bool flag) { return flag; });
  }
};

}  // namespace

class SparsePropertiesTest : public QObject {
  Q_OBJECT

  static constexpr int kGeometries = 300;

 private slots:
  void marks_follow_the_rule_token_by_token() {
    Random random(1);
    for (int n = 0; n < kGeometries; ++n) {
      const Geometry g(random);
      const LayoutTiles tiles(g.layout, g.grid);
      const TokenFlags queries(g.layout, g.query_tokens);
      const TokenFlags keys(g.layout, g.key_tokens);
      std::vector<TileMark> marks(static_cast<std::size_t>(g.grid.key_tiles()));
      for (std::int64_t i = 0; i < g.grid.query_tiles(); ++i) {
        tiles.mark_row(0, i, marks);
        RowCounts counts;
        for (std::int64_t j = 0; j < g.grid.key_tiles(); ++j) {
          const bool dropped = TokenFlags::all(keys.padding, j, g.grid.block_kv);
          const bool pinned =
              !(TokenFlags::all(queries.sparse, i, g.grid.block_q) && TokenFlags::all(keys.sparse, j, g.grid.block_kv));
          const bool diagonal =
              i * g.grid.block_q < (j + 1) * g.grid.block_kv && j * g.grid.block_kv < (i + 1) * g.grid.block_q;
          const TileMark expected = dropped    ? TileMark::dropped
                                    : pinned   ? TileMark::pinned
                                    : diagonal ? TileMark::diagonal
                                               : TileMark::candidate;
          QCOMPARE(marks[static_cast<std::size_t>(j)], expected);
          counts.candidates += expected == TileMark::candidate ? 1 : 0;
          counts.pinned += expected == TileMark::pinned ? 1 : 0;
          counts.fixed += expected == TileMark::pinned || expected == TileMark::diagonal ? 1 : 0;
        }
        QCOMPARE(tiles.count_row(0, i).candidates, counts.candidates);
        QCOMPARE(tiles.count_row(0, i).pinned, counts.pinned);
        QCOMPARE(tiles.count_row(0, i).fixed, counts.fixed);
      }
    }
  }

  void a_selection_keeps_its_promises() {
    Random random(2);
    int selected = 0;
    for (int n = 0; n < kGeometries; ++n) {
      const Geometry g(random);
      const bool coarse = n % 3 == 0;
      const HostTensor query = random_tensor(random, {g.batch, g.heads, g.query_tokens, g.head_dim}, coarse);
      const HostTensor key = random_tensor(random, {g.batch, g.kv_heads, g.key_tokens, g.head_dim}, coarse);
      const LayoutTiles tiles(g.layout, g.grid);
      SelectorRequest request{g.budget, g.head_shared, false, 32LL << 20, {}};
      BlockSelection selection;
      const auto result = select_tiles(query.view(), key.view(), tiles, request, selection);
      QVERIFY(result.has_value());
      if (!*result) continue;
      ++selected;
      std::vector<TileMark> marks(static_cast<std::size_t>(g.grid.key_tiles()));
      for (std::int64_t b = 0; b < selection.batch; ++b) {
        for (std::int64_t h = 0; h < selection.heads; ++h) {
          for (std::int64_t i = 0; i < selection.query_tiles; ++i) check_row(tiles, selection, marks, b, h, i);
        }
      }
      const auto kept = std::count(selection.keep.begin(), selection.keep.end(), std::uint8_t{1});
      QCOMPARE(selection.density, static_cast<double>(kept) / static_cast<double>(selection.keep.size()));

      // Any chunking of heads and any threads give the same tiles.
      request.scratch_bytes = pick(random, 0, 4096);
      request.parallel_for = backwards(pick(random, 1, 7), static_cast<int>(pick(random, 1, 3)));
      BlockSelection other;
      QVERIFY(*select_tiles(query.view(), key.view(), tiles, request, other));
      QVERIFY(other.keep == selection.keep);
    }
    QVERIFY(selected > kGeometries / 3);
  }

  void more_budget_never_loses_a_tile_and_never_lowers_the_density() {
    Random random(3);
    for (int n = 0; n < 60; ++n) {
      const Geometry g(random);
      const HostTensor query = random_tensor(random, {g.batch, g.heads, g.query_tokens, g.head_dim}, n % 2 == 0);
      const HostTensor key = random_tensor(random, {g.batch, g.kv_heads, g.key_tokens, g.head_dim}, n % 2 == 0);
      const LayoutTiles tiles(g.layout, g.grid);
      BlockSelection before;
      for (const double budget : {-1.0, 0.0, 0.05, 0.3, 0.31, 0.7, 0.99, 1.0, 2.0}) {
        BlockSelection selection;
        QVERIFY(*select_tiles(query.view(), key.view(), tiles, {budget, g.head_shared, true, 1, {}}, selection));
        if (before.has_tiles()) {
          QVERIFY(selection.density >= before.density);
          for (std::size_t t = 0; t < before.keep.size(); ++t) QVERIFY(selection.keep[t] >= before.keep[t]);
        }
        before = selection;
      }
    }
  }

  void a_band_is_what_a_search_over_distances_finds() {
    Random random(4);
    for (int n = 0; n < kGeometries; ++n) {
      const Geometry g(random);
      const double density = static_cast<double>(pick(random, 0, 100)) / 100.0;
      const RadialBand band(g.grid, density);
      const std::int64_t rows = g.grid.query_tiles();
      const std::int64_t columns = g.grid.key_tiles();
      const double widest = static_cast<double>(std::max(g.query_tokens, g.key_tokens));
      const auto distance = [&](std::int64_t i, std::int64_t j) {
        return std::abs((static_cast<double>(i) + 0.5) * static_cast<double>(g.grid.block_q) -
                        (static_cast<double>(j) + 0.5) * static_cast<double>(g.grid.block_kv));
      };
      std::vector<double> distances{0.0};
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) distances.push_back(std::min(distance(i, j), widest));
      }
      std::sort(distances.begin(), distances.end());
      std::vector<std::uint8_t> expected;
      for (const double reach : distances) {
        expected.clear();
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) expected.push_back(distance(i, j) <= reach ? 1 : 0);
        }
        const auto kept = static_cast<double>(std::count(expected.begin(), expected.end(), std::uint8_t{1}));
        if (static_cast<double>(static_cast<float>(kept / static_cast<double>(rows * columns))) >= density) break;
      }
      QVERIFY(band.keep() == expected);
    }
  }

  void geometries_past_two_to_the_31_are_counted_without_memory() {
    // 4,000,000 tokens: 31,250 x 62,500 tiles a head are 1,953,125,000; 56 heads of 128 are 2.9e10 elements.
    constexpr std::int64_t tokens = 4'000'000;
    const TensorView view = TensorView::contiguous({2, 56, tokens, 128}, DType::bfloat16);
    QVERIFY(view.elements() > (1LL << 31));
    const TileGrid grid{tokens, tokens};
    const LayoutTiles tiles(prefix_layout(tokens, 640), grid);
    const SelectionTotals totals = selection_totals(tiles, 0.25);
    // Five whole text rows, ten pinned columns; of the other 62,490 columns two are the diagonal.
    const std::int64_t free_rows = 31'250 - 5;
    QCOMPARE(totals.tiles, 1'953'125'000);
    QCOMPARE(totals.pinned, 5 * 62'500 + free_rows * 10);
    QCOMPARE(totals.kept, totals.pinned + free_rows * (2 + 62'488 / 4));
    const SelectionCost cost = selection_cost(view, view, grid, {});
    QCOMPARE(cost.keep_bytes, 2 * 56 * 1'953'125'000LL);
    QCOMPARE(cost.scores_bytes, 4 * cost.keep_bytes);
    QVERIFY(cost.scratch_bytes <= 32LL << 20);
    BlockSelection selection;
    QVERIFY(*select_tiles(view, view, tiles, {0.25, false, false, 32LL << 20, {}}, selection));
    QVERIFY(!selection.has_tiles());
    QCOMPARE(selection.density, totals.density());
    QVERIFY(RadialBand(grid, 0.25).kept() > 1'953'125'000 / 4);
    QCOMPARE(grid.diagonal(31'249), (TileRange{62'498, 62'500}));
  }

  void offsets_past_two_to_the_31_are_read_where_they_lie() {
    // Two heads 2^31 + 64 elements apart: address space without memory between them.
    constexpr std::int64_t apart = (1LL << 31) + 64;
    constexpr std::int64_t head = 256 * 8;
    constexpr std::size_t bytes = static_cast<std::size_t>(apart + head) * sizeof(float);
    void* const space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    QVERIFY(space != MAP_FAILED);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t second = static_cast<std::size_t>(apart) * sizeof(float) / page * page;
    QCOMPARE(mprotect(space, head * sizeof(float), PROT_READ | PROT_WRITE), 0);
    QCOMPARE(mprotect(static_cast<char*>(space) + second, bytes - second, PROT_READ | PROT_WRITE), 0);

    Random random(5);
    HostTensor near = random_tensor(random, {1, 2, 256, 8}, false);
    TensorView far = near.view();
    far.data = space;
    far.stride[1] = apart;
    for (const std::int64_t h : {0, 1}) {
      std::copy_n(near.as<float>() + h * head, head, static_cast<float*>(space) + h * apart);
    }
    QVERIFY(far.offset_reach() > (1LL << 31));
    const MaskTiles marks = *MaskTiles::make({256, 256, 16, 16}, 1, {}, {});
    BlockSelection expected;
    BlockSelection selection;
    QVERIFY(*select_tiles(near.view(), near.view(), marks, {}, expected));
    QVERIFY(*select_tiles(far, far, marks, {}, selection));
    QVERIFY(selection.keep == expected.keep);
    munmap(space, bytes);
  }

 private:
  static void check_row(const TileMarks& tiles, const BlockSelection& selection, std::vector<TileMark>& marks,
                        std::int64_t b, std::int64_t h, std::int64_t i) {
    tiles.mark_row(h, i, marks);
    std::int64_t chosen = 0;
    std::int64_t kept = 0;
    std::int64_t standing = 0;
    for (std::int64_t j = 0; j < selection.key_tiles; ++j) {
      const TileMark mark = marks[static_cast<std::size_t>(j)];
      const bool keeps = selection.kept(b, h, i, j);
      if (mark == TileMark::pinned || mark == TileMark::diagonal) QVERIFY(keeps);
      if (mark == TileMark::dropped) QVERIFY(!keeps);
      chosen += mark == TileMark::candidate && keeps ? 1 : 0;
      standing += mark != TileMark::dropped ? 1 : 0;
      kept += keeps ? 1 : 0;
    }
    const std::int64_t candidates = tiles.count_row(h, i).candidates;
    QCOMPARE(chosen, keep_count(candidates, selection.budget));
    // A row keeps nothing only where all of it is dropped, or where it has no diagonal and the budget keeps nothing.
    if (kept == 0) QVERIFY(standing == 0 || (standing == candidates && selection.budget == 0.0));
  }
};

QTEST_GUILESS_MAIN(SparsePropertiesTest)
#include "sparse_properties_test.moc"
