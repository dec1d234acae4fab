// SPDX-License-Identifier: GPL-3.0-or-later
// Whole calls of the exact kernel, on every instruction set that this machine has: masks of every kind and broadcast,
// selections of any tile size, outputs of every dtype.
#include "backends/simd/exact_tiles.h"
#include "core/tensor/half.h"
#include "one_target.h"
#include "support/kernels.h"

#include <tbb/global_control.h>
#include <QtTest>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 2, kQueries = 70, kKeys = 143, kDim = 24;
constexpr float kNone = -std::numeric_limits<float>::infinity();

struct Tensors {
  explicit Tensors(DType dtype = DType::float32, DType out = DType::float32)
      : query({kBatch, kHeads, kQueries, kDim}, dtype),
        key({kBatch, kHeads, kKeys, kDim}, dtype),
        value({kBatch, kHeads, kKeys, kDim}, dtype),
        output({kBatch, kHeads, kQueries, kDim}, out),
        exact({kBatch, kHeads, kQueries, kDim}, DType::float32) {
    fill_normal_tensor(query, 1);
    fill_normal_tensor(key, 2);
    fill_normal_tensor(value, 3);
    call.query = query.view(), call.key = key.view(), call.value = value.view(), call.output = output.view();
  }
  [[nodiscard]] double error(const BlockSelection* selection = nullptr, const AttentionCall* same = nullptr) {
    exact_attention(call, selection);
    AttentionCall reference = same != nullptr ? *same : call;
    reference.output = exact.view();
    (void)ReferenceKernel("reference").run(reference, nullptr);
    return relative_l1(output, exact);
  }
  HostTensor query, key, value, output, exact;
  AttentionCall call;
};

/// Every third pair is hidden, and all pairs of one query.
bool hidden(std::int64_t i, std::int64_t q, std::int64_t k) { return (i + q + k) % 3 == 0 || q == 7; }

}  // namespace

class ExactCallsTest : public QObject {
  Q_OBJECT
 private slots:
  void masksOfEveryKindMatchTheReference_data() { rows_of_targets(exact_tiles); }
  void masksOfEveryKindMatchTheReference();
  void masksAreReadWhateverLiesBetweenTheirRows_data() { rows_of_targets(exact_tiles); }
  void masksAreReadWhateverLiesBetweenTheirRows();
  void aMaskAndCausalHideWhatEitherHides_data() { rows_of_targets(exact_tiles); }
  void aMaskAndCausalHideWhatEitherHides();
  void selectionsOfAnyTileSizeMatchTheirMask_data() { rows_of_targets(exact_tiles); }
  void selectionsOfAnyTileSizeMatchTheirMask();
  void outputsOfHalvesAreTheRoundedResult_data() { rows_of_targets(exact_tiles); }
  void outputsOfHalvesAreTheRoundedResult();
  void bfloatScoresAreAsGoodAsWidenedOnes();
  void longSelectionsDoNotDependOnTheThreads();
};

void ExactCallsTest::masksOfEveryKindMatchTheReference() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors t;
  for (const DType dtype : {DType::boolean, DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{kQueries, kKeys},
                                                {kBatch, 1, kQueries, kKeys},
                                                {kBatch, kHeads, kQueries, kKeys},
                                                {kBatch, 1, 1, kKeys},
                                                {1, kHeads, kQueries, 1}}) {
      HostTensor mask(shape, dtype);
      const std::int64_t width = shape.back(), height = shape[shape.size() - 2];
      for (std::int64_t i = 0; i < mask.view().elements(); ++i) {
        const bool none =
            hidden(i / (width * height), height == 1 ? 1 : i / width % height, width == 1 ? 1 : i % width);
        const float bias = 0.25F * static_cast<float>(i % 9) - 1.0F;
        store_element(mask.view(), i, dtype == DType::boolean ? (none ? 0.0F : 1.0F) : (none ? kNone : bias));
      }
      t.call.attn_mask = mask.view();
      const double error = t.error();
      QVERIFY2(error < 2e-6,
               qPrintable(QString("dtype %1, %2 dims: %3").arg(static_cast<int>(dtype)).arg(shape.size()).arg(error)));
    }
  }
}

void ExactCallsTest::masksAreReadWhateverLiesBetweenTheirRows() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors t;
  for (const std::int64_t along : {1, 2}) {
    for (const std::int64_t behind : {0, 1, 300}) {
      const std::int64_t step = kKeys * along + behind;
      HostTensor memory({kHeads, kQueries, step}, DType::float32);
      std::fill_n(memory.as<float>(), memory.view().elements(), std::numeric_limits<float>::quiet_NaN());
      TensorView mask = memory.view();
      mask.shape[2] = kKeys;
      mask.stride[2] = along;
      for (std::int64_t row = 0; row < kHeads * kQueries; ++row) {
        for (std::int64_t k = 0; k < kKeys; ++k) {
          memory.as<float>()[row * step + k * along] =
              hidden(row / kQueries, row % kQueries, k) ? kNone : 0.25F * static_cast<float>((row + k) % 9) - 1.0F;
        }
      }
      t.call.attn_mask = mask;
      QVERIFY(t.error() < 2e-6);
    }
  }
}

void ExactCallsTest::aMaskAndCausalHideWhatEitherHides() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors t;
  HostTensor mask({kQueries, kKeys}, DType::boolean), both({kQueries, kKeys}, DType::boolean);
  for (std::int64_t i = 0; i < mask.view().elements(); ++i) {
    const std::int64_t q = i / kKeys, k = i % kKeys;
    mask.as<std::uint8_t>()[i] = hidden(0, q, k) ? 0 : 1;
    both.as<std::uint8_t>()[i] = hidden(0, q, k) || k > q ? 0 : 1;
  }
  t.call.attn_mask = mask.view();
  t.call.is_causal = true;
  AttentionCall same = t.call;
  same.is_causal = false;
  same.attn_mask = both.view();
  QVERIFY(t.error(nullptr, &same) < 2e-6);
}

void ExactCallsTest::selectionsOfAnyTileSizeMatchTheirMask() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors t;
  for (const std::int64_t block_q : {1, 16, 1000}) {
    for (const std::int64_t block_kv : {1, 3, 20, 64, 1000}) {
      BlockSelection selection;
      selection.block_q = block_q;
      selection.block_kv = block_kv;
      selection.heads = kHeads;
      selection.query_tiles = (kQueries + block_q - 1) / block_q;
      selection.key_tiles = (kKeys + block_kv - 1) / block_kv;
      for (std::int64_t i = 0; i < kHeads * selection.query_tiles * selection.key_tiles; ++i) {
        selection.keep.push_back(i % 5 < 2 || i % 7 == 3 ? 1 : 0);
      }
      HostTensor mask({1, kHeads, kQueries, kKeys}, DType::boolean);
      for (std::int64_t i = 0; i < mask.view().elements(); ++i) {
        const std::int64_t head = i / (kQueries * kKeys), q = i / kKeys % kQueries, k = i % kKeys;
        mask.as<std::uint8_t>()[i] = selection.kept(0, head, q / block_q, k / block_kv) ? 1 : 0;
      }
      AttentionCall same = t.call;
      same.attn_mask = mask.view();
      const double error = t.error(&selection, &same);
      QVERIFY2(error < 2e-6, qPrintable(QString("%1 x %2: %3").arg(block_q).arg(block_kv).arg(error)));
    }
  }
}

void ExactCallsTest::outputsOfHalvesAreTheRoundedResult() {
  QFETCH(qint64, target);
  const OnlyTarget only(target);
  Tensors wide;
  wide.value.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  wide.value.as<float>()[kKeys * kDim + 5] = std::numeric_limits<float>::infinity();
  exact_attention(wide.call, nullptr);
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    HostTensor narrow({kBatch, kHeads, kQueries, kDim}, dtype), rounded({kBatch, kHeads, kQueries, kDim}, dtype);
    AttentionCall call = wide.call;
    call.output = narrow.view();
    exact_attention(call, nullptr);
    for (std::int64_t i = 0; i < narrow.view().elements(); ++i) {
      store_element(rounded.view(), i, wide.output.as<float>()[i]);
      const float expected = load_element(rounded.view(), i), actual = load_element(narrow.view(), i);
      QVERIFY(expected == actual || (std::isnan(expected) && std::isnan(actual)));
    }
  }
}

void ExactCallsTest::bfloatScoresAreAsGoodAsWidenedOnes() {
  // The same numbers as bfloat16, whose pair products are exact, and as fp32; an odd head_dim leaves half a pair.
  for (const std::int64_t dim : {40, 77, 1, 128}) {
    HostTensor q({1, 2, 200, dim}, DType::bfloat16), k({1, 2, 300, dim}, DType::bfloat16),
        v({1, 2, 300, dim}, DType::bfloat16), wide_q({1, 2, 200, dim}, DType::float32),
        wide_k({1, 2, 300, dim}, DType::float32), out({1, 2, 200, dim}, DType::float32),
        wide_out({1, 2, 200, dim}, DType::float32);
    fill_normal_tensor(q, 1);
    fill_normal_tensor(k, 2);
    fill_normal_tensor(v, 3);
    for (std::int64_t i = 0; i < q.view().elements(); ++i) wide_q.as<float>()[i] = load_element(q.view(), i);
    for (std::int64_t i = 0; i < k.view().elements(); ++i) wide_k.as<float>()[i] = load_element(k.view(), i);
    AttentionCall call;
    call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
    QVERIFY(pair_scores_fit(call));
    exact_attention(call, nullptr);
    call.query = wide_q.view(), call.key = wide_k.view(), call.output = wide_out.view();
    QVERIFY(!pair_scores_fit(call));
    exact_attention(call, nullptr);
    QVERIFY2(relative_l1(out, wide_out) < 1e-6, qPrintable(QString::number(relative_l1(out, wide_out))));
  }
}

void ExactCallsTest::longSelectionsDoNotDependOnTheThreads() {
  // Long enough that a task's keys are packed in several blocks and its scores in several runs.
  HostTensor q({1, 1, 1300, 64}, DType::float32), k({1, 1, 5000, 64}, DType::float32),
      v({1, 1, 5000, 64}, DType::float32);
  fill_normal_tensor(q, 1);
  fill_normal_tensor(k, 2);
  fill_normal_tensor(v, 3);
  BlockSelection selection;
  selection.query_tiles = 11;
  selection.key_tiles = 79;
  for (int i = 0; i < 11 * 79; ++i) selection.keep.push_back(i % 3 != 0 ? 1 : 0);
  std::vector<float> first;
  for (const std::size_t threads : {1, 2, 5}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    HostTensor out({1, 1, 1300, 64}, DType::float32);
    AttentionCall call;
    call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
    exact_attention(call, &selection);
    const std::vector<float> result(out.as<float>(), out.as<float>() + out.view().elements());
    if (first.empty()) first = result;
    QVERIFY(result == first);
  }
}

QTEST_GUILESS_MAIN(ExactCallsTest)
#include "exact_calls_test.moc"
