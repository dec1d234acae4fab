// SPDX-License-Identifier: GPL-3.0-or-later
// The INT8 kernel's parts and whole calls, on every instruction set that this machine has.
#include "backends/simd/int8_tiles.h"

#include "one_target.h"
#include "support/kernels.h"

#include <tbb/global_control.h>
#include <QtTest>

using namespace attn;
using namespace attn::test;

namespace {

Int8Arithmetic arithmetic(std::int64_t dim, Int8Values values, bool smooth = true) {
  Int8Arithmetic how;
  how.key_width = how.value_width = dim;
  how.values = values;
  how.smooth_keys = smooth;
  return how;
}

struct Tensors {
  Tensors(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t dim, DType dtype = DType::float32)
      : query({1, heads, queries, dim}, dtype),
        key({1, heads, keys, dim}, dtype),
        value({1, heads, keys, dim}, dtype),
        output({1, heads, queries, dim}, DType::float32),
        exact({1, heads, queries, dim}, DType::float32) {
    fill_normal_tensor(query, 1);
    fill_normal_tensor(key, 2);
    fill_normal_tensor(value, 3);
    call.query = query.view(), call.key = key.view(), call.value = value.view(), call.output = output.view();
  }
  [[nodiscard]] std::vector<float> run(const Int8Arithmetic& how, const BlockSelection* selection = nullptr) {
    int8_attention(call, selection, how);
    return {output.as<float>(), output.as<float>() + output.view().elements()};
  }
  [[nodiscard]] double error(const AttentionCall& same) {
    AttentionCall reference = same;
    reference.output = exact.view();
    (void)ReferenceKernel("reference").run(reference, nullptr);
    return relative_l1(output, exact);
  }
  HostTensor query, key, value, output, exact;
  AttentionCall call;
};

BlockSelection selection_of(std::int64_t queries, std::int64_t keys, std::int64_t block_q, std::int64_t block_kv) {
  BlockSelection selection;
  selection.block_q = block_q;
  selection.block_kv = block_kv;
  selection.query_tiles = (queries + block_q - 1) / block_q;
  selection.key_tiles = (keys + block_kv - 1) / block_kv;
  for (std::int64_t i = 0; i < selection.query_tiles * selection.key_tiles; ++i) {
    selection.keep.push_back(i % 5 < 2 || i % 7 == 3 ? 1 : 0);
  }
  return selection;
}

}  // namespace

class Int8TilesTest : public QObject {
  Q_OBJECT
 private slots:
  void productsAreExact_data() { rows_of_targets(int8_tiles); }
  void productsAreExact();
  void wholeCallsStayNearTheReference_data() { rows_of_targets(int8_tiles); }
  void wholeCallsStayNearTheReference();
  void everyInstructionSetGivesTheSameNumbers();
  void selectionsMatchTheirMask_data() { rows_of_targets(int8_tiles); }
  void selectionsMatchTheirMask();
  void theResultDoesNotDependOnTheThreads();
  void memoryDoesNotGrowWithTheLength();
};

void Int8TilesTest::productsAreExact() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const Int8Tiles tiles = int8_tiles();
  std::mt19937 engine(4);
  for (int vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
    const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
    for (const std::int64_t words : {1, 3, 10, 128}) {
      HostBuffer panel(static_cast<std::size_t>(4 * words * width)), queries(static_cast<std::size_t>(7 * 4 * words));
      for (std::size_t i = 0; i < panel.size(); ++i) {
        panel.as<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(engine() % 256) - 128);
      }
      // The extremes, where 16-bit sums of products would saturate.
      for (std::size_t i = 0; i < panel.size() / 4; ++i) panel.as<std::int8_t>()[i] = -128;
      std::vector<int> number(queries.size());
      for (std::size_t i = 0; i < number.size(); ++i) {
        number[i] = i < number.size() / 3 ? -128 : static_cast<int>(engine() % 256) - 128;
        queries.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(number[i] + tiles.query_bias);
      }
      std::vector<std::int32_t> products(static_cast<std::size_t>(7 * width), 99);
      tiles.multiply(vectors, queries.as<std::uint8_t>(), 4 * words, panel.as<std::int8_t>(), 7, words, products.data(),
                     width);
      for (std::int64_t r = 0; r < 7; ++r) {
        for (std::int64_t j = 0; j < width; ++j) {
          std::int32_t exact = 0;
          for (std::int64_t k = 0; k < 4 * words; ++k) {
            exact += (number[static_cast<std::size_t>(r * 4 * words + k)] + tiles.query_bias) *
                     panel.as<std::int8_t>()[(k / 4 * width + j) * 4 + k % 4];
          }
          QCOMPARE(products[static_cast<std::size_t>(r * width + j)], exact);
        }
      }
    }
  }
}

void Int8TilesTest::wholeCallsStayNearTheReference() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  struct Shape {
    std::int64_t heads, queries, keys, dim;
  };
  for (const Shape& s : {Shape{2, 130, 200, 40}, Shape{1, 300, 77, 64}, Shape{1, 3, 700, 8}, Shape{1, 140, 300, 128},
                         Shape{1, 9, 70, 512}, Shape{1, 33, 65, 72}, Shape{1, 5, 3, 5}}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      for (const Int8Values values : {Int8Values::fp32, Int8Values::fp16, Int8Values::bf16, Int8Values::int8}) {
        Tensors t(s.heads, s.queries, s.keys, s.dim, dtype);
        (void)t.run(arithmetic(s.dim, values));
        const double error = t.error(t.call);
        QVERIFY2(error < 0.03,
                 qPrintable(QString("dim %1, values %2: %3").arg(s.dim).arg(static_cast<int>(values)).arg(error)));
      }
    }
  }
}

void Int8TilesTest::everyInstructionSetGivesTheSameNumbers() {
  Tensors t(2, 150, 333, 64);
  for (const Int8Values values : {Int8Values::fp32, Int8Values::int8}) {
    const std::vector<float> best = t.run(arithmetic(t.query.view().size(-1), values));
    for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
      const OnlyTarget only(rest & -rest);
      const std::vector<float> other = t.run(arithmetic(t.query.view().size(-1), values));
      double error = 0.0, size = 0.0;
      for (std::size_t i = 0; i < best.size(); ++i) {
        error += static_cast<double>(std::abs(other[i] - best[i]));
        size += static_cast<double>(std::abs(best[i]));
      }
      // A probability next to a half may round the other way where exponentials differ in the last bit.
      QVERIFY2(error < (values == Int8Values::int8 ? 5e-4 : 5e-6) * size,
               qPrintable(QString("%1: %2").arg(int8_tiles().name).arg(error / size)));
    }
  }
}

void Int8TilesTest::selectionsMatchTheirMask() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors t(1, 150, 330, 32);
  for (const Int8Values values : {Int8Values::fp32, Int8Values::int8}) {
    for (const std::int64_t block_kv : {4, 20, 64, 128, 1000}) {
      const BlockSelection selection = selection_of(150, 330, 128, block_kv);
      QVERIFY(int8_takes(&selection, arithmetic(t.query.view().size(-1), values)));
      HostTensor mask({150, 330}, DType::boolean);
      for (std::int64_t i = 0; i < 150 * 330; ++i) {
        mask.as<std::uint8_t>()[i] = selection.kept(0, 0, i / 330 / 128, i % 330 / block_kv) ? 1 : 0;
      }
      (void)t.run(arithmetic(t.query.view().size(-1), values), &selection);
      AttentionCall same = t.call;
      same.attn_mask = mask.view();
      const double error = t.error(same);
      QVERIFY2(error < 0.03, qPrintable(QString("%1: %2").arg(block_kv).arg(error)));
    }
  }
}

void Int8TilesTest::theResultDoesNotDependOnTheThreads() {
  Tensors t(1, 600, 2500, 32);
  const BlockSelection selection = selection_of(600, 2500, 128, 64);
  for (const BlockSelection* chosen : {static_cast<const BlockSelection*>(nullptr), &selection}) {
    std::vector<float> first;
    for (const std::size_t threads : {1, 2, 5}) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      const std::vector<float> result = t.run(arithmetic(32, Int8Values::int8), chosen);
      if (first.empty()) first = result;
      QVERIFY(result == first);
    }
  }
}

void Int8TilesTest::memoryDoesNotGrowWithTheLength() {
  for (const std::int64_t dim : {40, 64, 128, 512}) {
    for (const Int8Values values : {Int8Values::fp32, Int8Values::int8}) {
      const Int8Arithmetic how = arithmetic(dim, values);
      const CallSizes base{1, 24, 24, 1024, 1024, dim, dim};
      CallSizes longer = base;
      longer.query_tokens = longer.key_tokens = 1 << 20;
      BlockSelection selection;
      for (const BlockSelection* chosen : {static_cast<const BlockSelection*>(nullptr), &std::as_const(selection)}) {
        const std::int64_t bytes = int8_bytes_per_thread(longer, how, int8_tiling(longer, chosen, how, 2));
        QVERIFY(int8_bytes_per_thread(base, how, int8_tiling(base, chosen, how, 2)) <= bytes);
        QVERIFY2(bytes < (std::int64_t{8} << 20), qPrintable(QString::number(bytes)));
      }
    }
  }
}

QTEST_GUILESS_MAIN(Int8TilesTest)
#include "int8_tiles_test.moc"
