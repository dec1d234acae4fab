// SPDX-License-Identifier: GPL-3.0-or-later
// Every building block of the exact kernel against a plain reference, on every instruction set that this machine has.
#include "backends/simd/exact_tiles.h"

#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"
#include "one_target.h"
#include "support/kernels.h"

#include <tbb/global_control.h>
#include <QtTest>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace attn;
using namespace attn::test;

class ExactTilesTest : public QObject {
  Q_OBJECT
 private slots:
  void everyInstructionSetOfThisMachineIsDispatchedTo();
  void exp2StaysWithinItsStatedError_data() { targets(); }
  void exp2StaysWithinItsStatedError();
  void softmaxRowsOfAnyLengthMatchAndCarryTheirState_data() { targets(); }
  void softmaxRowsOfAnyLengthMatchAndCarryTheirState();
  void rowsOfEveryDtypeAreWidenedExactly_data() { targets(); }
  void rowsOfEveryDtypeAreWidenedExactly();
  void keysArePackedAtOddSizes_data() { targets(); }
  void keysArePackedAtOddSizes();
  void scorePanelsMatchAtOddSizes_data() { targets(); }
  void scorePanelsMatchAtOddSizes();
  void pairPanelsMatchAtOddSizes_data() { targets(); }
  void pairPanelsMatchAtOddSizes();
  void valuePanelsMatchOverStretches_data() { targets(); }
  void valuePanelsMatchOverStretches();
  void wholeCallsMatchTheReference_data() { targets(); }
  void wholeCallsMatchTheReference();
  void largeLogitsDenormalsAndInfinitiesMakeNoNaN_data() { targets(); }
  void largeLogitsDenormalsAndInfinitiesMakeNoNaN();
  void theResultDoesNotDependOnTheThreads();
  void memoryDoesNotGrowWithTheLength();

 private:
  static void targets();
};

void ExactTilesTest::targets() { rows_of_targets(exact_tiles); }

void ExactTilesTest::everyInstructionSetOfThisMachineIsDispatchedTo() {
  std::set<std::string> names;
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const OnlyTarget only(rest & -rest);
    names.insert(exact_tiles().name);
  }
  QVERIFY(names.size() >= 2);
  QVERIFY(names.contains(exact_tiles().name));
}

void ExactTilesTest::exp2StaysWithinItsStatedError() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  std::vector<float> x, out;
  for (float value = 0.0F; value >= -126.0F; value -= 1.0F / 1024.0F) x.push_back(value);
  x.resize(x.size() / 64 * 64);
  out.resize(x.size());
  tiles.exp2(x.data(), static_cast<std::int64_t>(x.size()), out.data());
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(out[i]) / std::exp2(static_cast<double>(x[i])) - 1.0));
  }
  // The polynomial is right to 9.1e-8; what is left is the rounding of Horner's scheme in float, with or without FMA.
  QVERIFY2(worst < 2.5e-7, qPrintable(QString::number(worst)));
  x.assign(64, -std::numeric_limits<float>::infinity());
  x[1] = -160.0F;
  x[2] = -3.0e38F;
  x[3] = 0.0F;
  out.assign(64, -1.0F);
  tiles.exp2(x.data(), 64, out.data());
  QCOMPARE(out[0], 0.0F);
  QCOMPARE(out[1], 0.0F);
  QCOMPARE(out[2], 0.0F);
  QCOMPARE(out[3], 1.0F);
  x.assign(64, std::numeric_limits<float>::quiet_NaN());
  tiles.exp2(x.data(), 64, out.data());
  QVERIFY(std::isnan(out[5]));
}

void ExactTilesTest::softmaxRowsOfAnyLengthMatchAndCarryTheirState() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  for (int vectors = 1; vectors <= 9; ++vectors) {
    const std::int64_t count = std::int64_t{vectors} * tiles.lanes;
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0.0F;
    double exact_sum = 0.0, exact_maximum = -std::numeric_limits<double>::infinity();
    for (unsigned part = 0; part < 3; ++part) {
      std::vector<float> row = normal(static_cast<std::size_t>(count), 7 + part);
      for (float& value : row) value = value * 3.0F + static_cast<float>(part);
      const std::vector<float> scores = row;
      const double before = exact_maximum;
      for (const float s : scores) exact_maximum = std::max(exact_maximum, static_cast<double>(s));
      const double rescale = std::isinf(before) ? 0.0 : std::exp2(before - exact_maximum);
      exact_sum *= rescale;
      const float returned = tiles.softmax_row(row.data(), count, &maximum, &sum);
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const double p = std::exp2(static_cast<double>(scores[j]) - exact_maximum);
        exact_sum += p;
        QVERIFY(std::abs(static_cast<double>(row[j]) - p) <= 2e-6 * p + 2e-38);
      }
      QVERIFY(std::abs(static_cast<double>(returned) - rescale) <= 4e-7);
      QCOMPARE(static_cast<double>(maximum), exact_maximum);
      QVERIFY(std::abs(static_cast<double>(sum) / exact_sum - 1.0) < 1e-6);
    }
  }
  std::vector<float> hidden(64, -std::numeric_limits<float>::infinity());
  float maximum = -std::numeric_limits<float>::infinity(), sum = 0.0F;
  QCOMPARE(tiles.softmax_row(hidden.data(), 64, &maximum, &sum), 0.0F);
  QCOMPARE(sum, 0.0F);
  QCOMPARE(hidden[5], 0.0F);
}

void ExactTilesTest::rowsOfEveryDtypeAreWidenedExactly() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::int64_t count : {1, 3, 8, 15, 16, 17, 40, 77, 128}) {
      HostTensor row({count}, dtype);
      fill_normal_tensor(row, 3);
      store_element(row.view(), 0, 6.0e-8F);  // the least denormal of fp16
      std::vector<float> wide(static_cast<std::size_t>(count) + 1, 99.0F);
      tiles.load_row(dtype, row.view().data, count, 2.0F, wide.data());
      for (std::int64_t i = 0; i < count; ++i) {
        QCOMPARE(wide[static_cast<std::size_t>(i)], 2.0F * load_element(row.view(), i));
      }
      QCOMPARE(wide.back(), 99.0F);
    }
  }
}

void ExactTilesTest::keysArePackedAtOddSizes() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  for (int vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
    const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
    for (const std::int64_t depth : {1, 3, 4, 7, 40, 65}) {
      for (std::int64_t keys = std::max<std::int64_t>(width - tiles.lanes + 1, 1); keys <= width; ++keys) {
        const std::vector<float> rows = normal(static_cast<std::size_t>(keys * (depth + 3)), 5);
        std::vector<float> panel(static_cast<std::size_t>(depth * width), 99.0F);
        tiles.pack_keys(rows.data(), depth + 3, keys, depth, vectors, panel.data());
        for (std::int64_t k = 0; k < depth; ++k) {
          for (std::int64_t j = 0; j < width; ++j) {
            const float expected = j < keys ? rows[static_cast<std::size_t>(j * (depth + 3) + k)] : 0.0F;
            QCOMPARE(panel[static_cast<std::size_t>(k * width + j)], expected);
          }
        }
      }
    }
  }
}

void ExactTilesTest::scorePanelsMatchAtOddSizes() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  for (int vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
    const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
    for (const std::int64_t depth : {1, 5, 64}) {
      HostBuffer aligned(static_cast<std::size_t>(depth * width) * sizeof(float));
      const std::vector<float> numbers = normal(static_cast<std::size_t>(depth * width), 11);
      std::copy(numbers.begin(), numbers.end(), aligned.as<float>());
      for (std::int64_t rows = 1; rows <= 23; ++rows) {
        const std::vector<float> queries = normal(static_cast<std::size_t>(rows * depth), 12);
        std::vector<float> scores(static_cast<std::size_t>(rows * (width + 5)), 99.0F);
        tiles.score_panel(vectors, queries.data(), depth, aligned.as<float>(), rows, depth, scores.data(), width + 5);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < width + 5; ++j) {
            double exact = 0.0;
            for (std::int64_t k = 0; k < depth; ++k) {
              exact += j < width ? static_cast<double>(queries[static_cast<std::size_t>(r * depth + k)]) *
                                       static_cast<double>(numbers[static_cast<std::size_t>(k * width + j)])
                                 : 0.0;
            }
            const float actual = scores[static_cast<std::size_t>(r * (width + 5) + j)];
            if (j >= width)
              QCOMPARE(actual, 99.0F);
            else
              QVERIFY(std::abs(static_cast<double>(actual) - exact) < 1e-4);
          }
        }
      }
    }
  }
}

void ExactTilesTest::pairPanelsMatchAtOddSizes() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  // pairs_pay() is false where the processor lacks the instruction; the widened way serves every processor.
  const bool instruction = pairs_pay(tiles);
  for (int vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
    const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
    for (const std::int64_t words : {1, 5, 20}) {
      HostTensor panel({words, width, 2}, DType::bfloat16), queries({23, words, 2}, DType::bfloat16);
      fill_normal_tensor(panel, 11);
      fill_normal_tensor(queries, 12);
      for (const bool by_instruction : {false, true}) {
        if (by_instruction && !instruction) continue;
        for (std::int64_t rows = 1; rows <= 23; ++rows) {
          std::vector<float> scores(static_cast<std::size_t>(rows * (width + 5)), 99.0F);
          tiles.pair_panel(by_instruction, vectors, queries.as<std::int32_t>(), words, panel.as<std::int32_t>(), rows,
                           words, 0.5F, scores.data(), width + 5);
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t j = 0; j < width + 5; ++j) {
              double exact = 0.0;
              for (std::int64_t k = 0; k < 2 * words; ++k) {
                if (j >= width) break;
                exact += 0.5 * static_cast<double>(load_element(queries.view(), r * 2 * words + k)) *
                         static_cast<double>(load_element(panel.view(), (k / 2 * width + j) * 2 + k % 2));
              }
              const float actual = scores[static_cast<std::size_t>(r * (width + 5) + j)];
              if (j >= width)
                QCOMPARE(actual, 99.0F);
              else
                QVERIFY(std::abs(static_cast<double>(actual) - exact) < 2e-5);
            }
          }
        }
      }
    }
  }
}

void ExactTilesTest::valuePanelsMatchOverStretches() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  const ExactTiles tiles = exact_tiles();
  constexpr std::int64_t kKeys = 30;
  const std::vector<Stretch> stretches{{0, 3, 7}, {8, 20, 9}};  // scores of keys 3..9 and 20..28
  for (int vectors = 1; vectors <= tiles.max_vectors; ++vectors) {
    const std::int64_t width = std::int64_t{vectors} * tiles.lanes;
    HostBuffer values(static_cast<std::size_t>(kKeys * width) * sizeof(float));
    const std::vector<float> numbers = normal(static_cast<std::size_t>(kKeys * width), 21);
    std::copy(numbers.begin(), numbers.end(), values.as<float>());
    for (std::int64_t rows = 1; rows <= 19; ++rows) {
      const std::vector<float> p = normal(static_cast<std::size_t>(rows * 20), 22);
      const std::vector<float> rescale = normal(static_cast<std::size_t>(rows), 23);
      const std::vector<float> before = normal(static_cast<std::size_t>(rows * width), 24);
      std::vector<float> out = before;
      tiles.value_panel(vectors, p.data(), 20, values.as<float>(), stretches.data(), 2, rows, rescale.data(),
                        out.data(), width);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t d = 0; d < width; ++d) {
          double exact = static_cast<double>(before[static_cast<std::size_t>(r * width + d)]) *
                         static_cast<double>(rescale[static_cast<std::size_t>(r)]);
          for (const Stretch& s : stretches) {
            for (std::int64_t j = 0; j < s.keys; ++j) {
              exact += static_cast<double>(p[static_cast<std::size_t>(r * 20 + s.column + j)]) *
                       static_cast<double>(numbers[static_cast<std::size_t>((s.key + j) * width + d)]);
            }
          }
          QVERIFY(std::abs(static_cast<double>(out[static_cast<std::size_t>(r * width + d)]) - exact) < 1e-4);
        }
      }
    }
  }
}

void ExactTilesTest::wholeCallsMatchTheReference() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  struct Shape {
    std::int64_t batch, heads, kv_heads, queries, keys, dim;
    bool causal;
  };
  for (const Shape& s :
       {Shape{1, 2, 2, 130, 200, 40, false}, Shape{2, 4, 2, 75, 41, 64, true}, Shape{1, 1, 1, 300, 77, 128, false},
        Shape{1, 1, 1, 3, 1000, 8, false}, Shape{1, 2, 2, 257, 530, 160, true}, Shape{1, 1, 1, 40, 70, 512, false},
        Shape{1, 2, 1, 33, 65, 72, true}, Shape{1, 1, 1, 1, 1, 1, false}, Shape{1, 1, 1, 5, 0, 16, false}}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      HostTensor q({s.batch, s.heads, s.queries, s.dim}, dtype), k({s.batch, s.kv_heads, s.keys, s.dim}, dtype);
      HostTensor v({s.batch, s.kv_heads, s.keys, s.dim}, dtype);
      HostTensor out({s.batch, s.heads, s.queries, s.dim}, DType::float32),
          exact({s.batch, s.heads, s.queries, s.dim}, DType::float32);
      fill_normal_tensor(q, 1);
      fill_normal_tensor(k, 2);
      fill_normal_tensor(v, 3);
      AttentionCall call;
      call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
      call.is_causal = s.causal;
      call.enable_gqa = s.heads != s.kv_heads;
      exact_attention(call, nullptr);
      call.output = exact.view();
      (void)test::ReferenceKernel("reference").run(call, nullptr);
      QVERIFY2(relative_l1(out, exact) < 2e-6,
               qPrintable(QString("dim %1: %2").arg(s.dim).arg(relative_l1(out, exact))));
    }
  }
}

void ExactTilesTest::largeLogitsDenormalsAndInfinitiesMakeNoNaN() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  HostTensor q({1, 1, 40, 64}, DType::float32), k({1, 1, 90, 64}, DType::float32), v({1, 1, 90, 64}, DType::float32);
  HostTensor out({1, 1, 40, 64}, DType::float32), exact({1, 1, 40, 64}, DType::float32), mask({40, 90}, DType::float32);
  fill_normal_tensor(q, 1);
  fill_normal_tensor(k, 2);
  fill_normal_tensor(v, 3);
  for (int i = 0; i < 64; ++i) {
    q.as<float>()[i] *= 200.0F;      // logits of several hundreds
    q.as<float>()[64 + i] = 1e-41F;  // denormals
    k.as<float>()[64 * 7 + i] = 1e-42F;
  }
  const float none = -std::numeric_limits<float>::infinity();
  for (int j = 0; j < 90; ++j) {
    for (int i = 0; i < 40; ++i)
      mask.as<float>()[i * 90 + j] = (i + j) % 3 == 0 ? none : 0.5F * static_cast<float>(j % 5);
    mask.as<float>()[3 * 90 + j] = none;                                  // a row without any key
    mask.as<float>()[4 * 90 + j] = std::numeric_limits<float>::lowest();  // finite: averages the values
  }
  AttentionCall call;
  call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
  call.attn_mask = mask.view();
  exact_attention(call, nullptr);
  call.output = exact.view();
  (void)test::ReferenceKernel("reference").run(call, nullptr);
  // The reference in double does not absorb the scores of row 4; torch's float arithmetic does: the plain mean.
  for (int d = 0; d < 64; ++d) {
    double mean = 0.0;
    for (int j = 0; j < 90; ++j) mean += static_cast<double>(v.as<float>()[j * 64 + d]) / 90.0;
    exact.as<float>()[4 * 64 + d] = static_cast<float>(mean);
  }
  for (int i = 0; i < 40 * 64; ++i) QVERIFY(std::isfinite(out.as<float>()[i]));
  for (int d = 0; d < 64; ++d) QCOMPARE(out.as<float>()[3 * 64 + d], 0.0F);
  QVERIFY2(relative_l1(out, exact) < 2e-5, qPrintable(QString::number(relative_l1(out, exact))));
}

void ExactTilesTest::theResultDoesNotDependOnTheThreads() {
  HostTensor q({1, 3, 700, 64}, DType::bfloat16), k({1, 3, 900, 64}, DType::bfloat16),
      v({1, 3, 900, 64}, DType::bfloat16);
  fill_normal_tensor(q, 1);
  fill_normal_tensor(k, 2);
  fill_normal_tensor(v, 3);
  std::vector<float> first;
  for (const std::size_t threads : {1, 2, 5}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    HostTensor out({1, 3, 700, 64}, DType::float32);
    AttentionCall call;
    call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
    exact_attention(call, nullptr);
    const std::vector<float> result(out.as<float>(), out.as<float>() + out.view().elements());
    if (first.empty()) first = result;
    QVERIFY(result == first);
  }
}

void ExactTilesTest::memoryDoesNotGrowWithTheLength() {
  for (const std::int64_t dim : {40, 64, 128, 512}) {
    const CallSizes base{1, 24, 24, 1024, 1024, dim, dim};
    CallSizes longer = base;
    longer.query_tokens = longer.key_tokens = 1 << 20;
    const std::int64_t bytes = exact_bytes_per_thread(longer, Tiling::of(longer, nullptr, 2));
    QVERIFY(exact_bytes_per_thread(base, Tiling::of(base, nullptr, 2)) <= bytes);
    QVERIFY2(bytes < (std::int64_t{8} << 20), qPrintable(QString::number(bytes)));
    for (const std::int64_t block : {1, 64, 1000}) {
      BlockSelection selection;
      selection.block_kv = block;
      const std::int64_t sparse = exact_bytes_per_thread(longer, Tiling::of(longer, &selection, 2));
      QVERIFY2(sparse < (std::int64_t{8} << 20), qPrintable(QString("%1: %2").arg(block).arg(sparse)));
    }
  }
}

QTEST_GUILESS_MAIN(ExactTilesTest)
#include "exact_tiles_test.moc"
