// SPDX-License-Identifier: GPL-3.0-or-later
// The block abstraction: which lane holds what, and what the watch over shared memory notices.
#include "backends/cuda/grid/host_block.h"

#include <QTest>
#include <cstdint>
#include <vector>

using namespace attn;
using namespace attn::cuda;

namespace {

/// Deterministic small whole numbers, so that every sum is exact in fp32.
int number(int row, int column) { return (row * 7 + column * 13 + row * column) % 15 - 7; }

HostBlock block_of(int threads, std::size_t shared, const HostRun& run = {}) {
  return HostBlock({0, 0, 0}, threads, shared, run);
}

/// The registers of one warp.
struct Fragments {
  std::uint32_t a[kRegistersOfA];
  std::uint32_t b[4];
};

/// Puts element `e` of a run of registers, counted in elements of `bytes`.
void put(std::uint32_t* registers, int e, int bytes, std::uint32_t bits) {
  std::memcpy(reinterpret_cast<unsigned char*>(registers) + e * bytes, &bits, static_cast<std::size_t>(bytes));
}

std::uint32_t bits_of(HalfNumbers, int value) { return pack_half(static_cast<float>(value), 0.0F); }
std::uint32_t bits_of(BfloatNumbers, int value) { return pack_bfloat(static_cast<float>(value), 0.0F); }
std::uint32_t bits_of(Int8Numbers, int value) { return static_cast<std::uint8_t>(static_cast<std::int8_t>(value)); }

/// Sums of 16 x depth and depth x 8 as the plain definition has them.
int plain_product(int row, int column, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += number(row, k) * number(k, column);
  return sum;
}

/// Loads the fragments element by element, by the formulas of the PTX ISA for this shape written out once more.
template <class Numbers>
void check_product(int bytes) {
  const int depth = kMmaRowBytes / bytes;
  const int per_register = 4 / bytes;
  HostBlock block = block_of(64, 0);
  HostBlock::PerThread<Fragments> fragments(block);
  HostBlock::PerThread<std::array<typename Numbers::Sum, 4>> sums(block);
  block.each([&](int thread) {
    const int lane = thread % 32;
    const int group = lane >> 2;
    const int in_group = lane & 3;
    for (int i = 0; i < 4 * per_register; ++i) {
      const bool low_row = bytes == 1 ? (i < 4 || (i >= 8 && i < 12)) : (i < 2 || (i >= 4 && i < 6));
      const int row = low_row ? group : group + 8;
      const int column =
          bytes == 1 ? in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0) : in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      put(fragments(thread).a, i, bytes, bits_of(Numbers{}, number(row, column)));
    }
    for (int i = 0; i < 2 * per_register; ++i) {
      const int row =
          bytes == 1 ? in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0) : in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      put(fragments(thread).b, i, bytes, bits_of(Numbers{}, number(row, group)));
    }
    for (int i = 0; i < 4; ++i) sums(thread)[static_cast<std::size_t>(i)] = static_cast<typename Numbers::Sum>(i);
  });
  block.mma<Numbers>([&](int thread) {
    return LaneProduct<typename Numbers::Sum>{sums(thread).data(), fragments(thread).a, fragments(thread).b};
  });
  for (int thread = 0; thread < 64; ++thread) {
    const int lane = thread % 32;
    for (int i = 0; i < 4; ++i) {
      const int row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
      const int column = (lane & 3) * 2 + (i & 1);
      QCOMPARE(static_cast<int>(sums(thread)[static_cast<std::size_t>(i)]), plain_product(row, column, depth) + i);
    }
  }
}

}  // namespace

class GridTest : public QObject {
  Q_OBJECT

 private slots:
  void a_product_of_bytes_is_the_plain_matrix_product() { check_product<Int8Numbers>(1); }
  void a_product_of_binary16_is_the_plain_matrix_product() { check_product<HalfNumbers>(2); }
  void a_product_of_bfloat16_is_the_plain_matrix_product() { check_product<BfloatNumbers>(2); }

  void loaded_matrices_are_the_operands_of_a_product() {
    // A (16 x 16) row by row, B as keys (8 rows of 16, the summed dimension along the row): what scores need.
    HostBlock block = block_of(32, 1024);
    HostBlock::PerThread<Fragments> fragments(block);
    HostBlock::PerThread<std::array<float, 8>> sums(block);
    block.each([&](int thread) {
      for (int i = thread; i < 16 * 16; i += 32) {
        block.store(thread, static_cast<std::uint32_t>(2 * i),
                    static_cast<std::uint16_t>(bits_of(HalfNumbers{}, number(i / 16, i % 16))));
        block.store(thread, static_cast<std::uint32_t>(512 + 2 * i),
                    static_cast<std::uint16_t>(bits_of(HalfNumbers{}, number(i % 16, i / 16))));
      }
    });
    block.sync();
    block.load_matrices([&](int thread) { return fragments(thread).a; },
                        [](int thread) { return static_cast<std::uint32_t>((thread % 16) * 32 + thread / 16 * 16); });
    block.load_matrices(
        [&](int thread) { return fragments(thread).b; },
        [](int thread) {
          return static_cast<std::uint32_t>(512 + (thread % 8 + thread / 16 * 8) * 32 + thread / 8 % 2 * 16);
        });
    for (int half = 0; half < 2; ++half) {
      block.mma<HalfNumbers>([&](int thread) {
        return LaneProduct<float>{sums(thread).data() + 4 * half, fragments(thread).a, fragments(thread).b + 2 * half};
      });
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i) {
        const int column = sum_column(lane, i % 4) + i / 4 * 8;
        QCOMPARE(static_cast<int>(sums(lane)[static_cast<std::size_t>(i)]),
                 plain_product(sum_row(lane, i % 4), column, 16));
      }
    }
  }

  void transposed_matrices_are_the_operands_of_a_product() {
    // B as values (16 rows of 8, the summed dimension down the rows).
    HostBlock block = block_of(32, 1024);
    HostBlock::PerThread<Fragments> fragments(block);
    HostBlock::PerThread<std::array<float, 4>> sums(block);
    block.each([&](int thread) {
      for (int i = thread; i < 16 * 16; i += 32) {
        block.store(thread, static_cast<std::uint32_t>(2 * i),
                    static_cast<std::uint16_t>(bits_of(BfloatNumbers{}, number(i / 16, i % 16))));
      }
      for (int i = thread; i < 16 * 8; i += 32) {
        block.store(thread, static_cast<std::uint32_t>(512 + 2 * i),
                    static_cast<std::uint16_t>(bits_of(BfloatNumbers{}, number(i / 8, i % 8))));
      }
    });
    block.sync();
    block.load_matrices([&](int thread) { return fragments(thread).a; },
                        [](int thread) { return static_cast<std::uint32_t>((thread % 16) * 32 + thread / 16 * 16); });
    block.load_transposed([&](int thread) { return fragments(thread).b; },
                          [](int thread) { return static_cast<std::uint32_t>(512 + thread % 16 * 16); });
    block.mma<BfloatNumbers>([&](int thread) {
      return LaneProduct<float>{sums(thread).data(), fragments(thread).a, fragments(thread).b};
    });
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        QCOMPARE(static_cast<int>(sums(lane)[static_cast<std::size_t>(i)]),
                 plain_product(sum_row(lane, i), sum_column(lane, i), 16));
      }
    }
  }

  void a_reduction_gives_every_lane_the_same() {
    HostBlock block = block_of(64, 0);
    HostBlock::PerThread<float> values(block);
    block.each([&](int thread) { values(thread) = static_cast<float>((thread * 37) % 64); });
    block.reduce<4>([&](int thread) -> float& { return values(thread); },
                    [](float a, float b) { return larger(a, b); });
    for (int thread = 0; thread < 64; ++thread) {
      float expected = 0.0F;
      for (int i = 0; i < 4; ++i) expected = std::max(expected, static_cast<float>((thread / 4 * 4 + i) * 37 % 64));
      QCOMPARE(values(thread), expected);
    }
  }

  void a_missing_barrier_is_noticed_data() {
    QTest::addColumn<bool>("barrier");
    QTest::newRow("with") << true;
    QTest::newRow("without") << false;
  }
  void a_missing_barrier_is_noticed() {
    QFETCH(bool, barrier);
    AuditReport report;
    HostBlock block = block_of(64, 256, {ThreadOrder::forward, &report});
    block.each([&](int thread) { block.store(thread, static_cast<std::uint32_t>(4 * thread), thread); });
    if (barrier) block.sync();
    int wrong = 0;
    block.each([&](int thread) {
      wrong += block.load<int>(thread, static_cast<std::uint32_t>(4 * (63 - thread))) == 63 - thread ? 0 : 1;
    });
    QCOMPARE(wrong, 0);
    QCOMPARE(report.races, barrier ? 0 : 64);
    QCOMPARE(report.accesses, 128);
    QCOMPARE(report.first.empty(), barrier);
  }

  void overwriting_what_others_read_needs_a_barrier() {
    AuditReport report;
    HostBlock block = block_of(32, 128, {ThreadOrder::forward, &report});
    block.each([&](int thread) { block.store(thread, static_cast<std::uint32_t>(4 * thread), thread); });
    block.sync();
    block.each([&](int thread) { (void)block.load<int>(thread, static_cast<std::uint32_t>(4 * (31 - thread))); });
    block.each([&](int thread) { block.store(thread, static_cast<std::uint32_t>(4 * thread), 1); });
    QCOMPARE(report.races, 32);
  }

  void threads_that_depend_on_each_other_depend_on_the_order() {
    const auto last = [](ThreadOrder order) {
      HostBlock block = block_of(32, 4, {order, nullptr});
      block.each([&](int thread) { block.store(thread, 0, thread); });
      return block.load<int>(0, 0);
    };
    QCOMPARE(last(ThreadOrder::forward), 31);
    QCOMPARE(last(ThreadOrder::reverse), 0);
    QVERIFY(last(ThreadOrder::shuffled) != 0 && last(ThreadOrder::shuffled) != 31);
  }

  void additions_do_not_race_with_each_other() {
    AuditReport report;
    HostBlock block = block_of(64, 4, {ThreadOrder::shuffled, &report});
    block.each([&](int thread) {
      if (thread == 0) block.store(thread, 0, 0);
    });
    block.sync();
    block.each([&](int thread) { block.add(thread, 0, thread); });
    QCOMPARE(report.races, 0);
    QCOMPARE(block.load<int>(0, 0), 64 * 63 / 2);
    QVERIFY(report.races > 0);  // read before a barrier
  }

  void a_copy_arrives_only_when_it_is_waited_for() {
    const std::array<std::uint32_t, 8> source{1, 2, 3, 4, 5, 6, 7, 8};
    AuditReport report;
    HostBlock block = block_of(32, 32, {ThreadOrder::forward, &report});
    const auto copy = [&](std::uint32_t at, int bytes) {
      block.each([&](int thread) {
        if (thread == 0) block.copy16(thread, at, source.data() + at / 4, bytes);
      });
      block.commit();
    };
    copy(0, 16);
    copy(16, 8);
    block.wait<1>();
    QCOMPARE(block.load<std::uint32_t>(0, 0), 1U);
    QCOMPARE(report.races, 0);
    QCOMPARE(block.load<std::uint32_t>(0, 16), 0xFFFFFFFFU);
    QCOMPARE(report.races, 1);
    block.wait<0>();
    QCOMPARE(block.load<std::uint32_t>(1, 20), 6U);  // another thread, without a barrier
    QCOMPARE(report.races, 2);
    block.sync();
    QCOMPARE(block.load<std::uint32_t>(1, 20), 6U);
    QCOMPARE(block.load<std::uint32_t>(1, 24), 0U);
    QCOMPARE(report.races, 2);
  }

  void accesses_outside_and_reads_of_nothing_are_noticed() {
    AuditReport report;
    HostBlock block = block_of(32, 64, {ThreadOrder::forward, &report});
    (void)block.load<int>(0, 0);
    QCOMPARE(report.unset_reads, 1);
    block.store(0, 64, 1);
    block.store(0, 6, 1);
    QCOMPARE(report.out_of_bounds, 2);
  }

  void bank_conflicts_are_counted() {
    const auto conflicts = [](std::uint32_t step) {
      AuditReport report;
      HostBlock block = block_of(32, 32 * 128, {ThreadOrder::forward, &report});
      block.each([&](int thread) { block.store(thread, static_cast<std::uint32_t>(thread) * step, 1); });
      return report.plain_conflicts;
    };
    QCOMPARE(conflicts(4), 0);
    QCOMPARE(conflicts(8), 1);
    QCOMPARE(conflicts(128), 31);
    QCOMPARE(conflicts(0), 0);  // one word for all is a broadcast
  }

  void rows_a_power_of_two_apart_conflict_in_ldmatrix() {
    const auto conflicts = [](std::uint32_t row_bytes) {
      AuditReport report;
      HostBlock block = block_of(32, 32 * 144, {ThreadOrder::forward, &report});
      block.each([&](int thread) {
        for (std::uint32_t at = static_cast<std::uint32_t>(thread) * 4; at < 32 * 144; at += 128)
          block.store(thread, at, 1);
      });
      block.sync();
      HostBlock::PerThread<std::array<std::uint32_t, 4>> to(block);
      block.load_matrices([&](int thread) { return to(thread).data(); },
                          [&](int thread) { return static_cast<std::uint32_t>(thread) * row_bytes; });
      return report.matrix_conflicts;
    };
    QCOMPARE(conflicts(16), 0);
    QCOMPARE(conflicts(144), 0);
    QCOMPARE(conflicts(128), 4 * 7);
  }
};

QTEST_GUILESS_MAIN(GridTest)
#include "grid_test.moc"
