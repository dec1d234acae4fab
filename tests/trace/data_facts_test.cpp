// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/event/data_facts.h"

#include "core/tensor/half.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::trace;

namespace {

/// A mask from rows of text: '1' keeps, '0' hides, 'b' is a bias; rows apart by '/', matrices by '|'.
struct WrittenMask {
  std::vector<std::uint8_t> bools;
  std::vector<float> floats;
  TensorView view;

  WrittenMask(const std::string& text, DType dtype, float hides) {
    std::int64_t matrices = 1;
    std::int64_t rows = 1;
    for (const char c : text) {
      if (c == '|') ++matrices;
      if (c == '|' || c == '/') {
        ++rows;
        continue;
      }
      bools.push_back(c == '1' ? 1 : 0);
      floats.push_back(c == '1' ? 0.0F : c == '0' ? hides : 0.5F);
    }
    const auto keys = static_cast<std::int64_t>(bools.size()) / rows;
    view = TensorView::contiguous({1, matrices, rows / matrices, keys}, dtype, Device::cpu());
    view.data = dtype == DType::boolean ? static_cast<void*>(bools.data()) : static_cast<void*>(floats.data());
  }
};

}  // namespace

Q_DECLARE_METATYPE(attn::trace::MaskPattern)

class DataFactsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_mask_is_called_what_its_contents_are_data() {
    QTest::addColumn<QString>("mask");
    QTest::addColumn<MaskPattern>("pattern");
    QTest::newRow("all true") << "111/111" << MaskPattern::all_true;
    QTest::newRow("one row, all true") << "1111" << MaskPattern::all_true;
    QTest::newRow("padding, one row") << "1100" << MaskPattern::key_padding;
    QTest::newRow("padding, equal rows") << "110/110/110" << MaskPattern::key_padding;
    QTest::newRow("padding of each batch element") << "110/110|100/100" << MaskPattern::key_padding;
    QTest::newRow("a hole is still the same for all queries") << "101/101" << MaskPattern::key_padding;
    QTest::newRow("causal") << "100/110/111" << MaskPattern::causal;
    QTest::newRow("causal, more keys") << "1000/1100" << MaskPattern::causal;
    QTest::newRow("causal, more queries") << "10/11/11" << MaskPattern::causal;
    QTest::newRow("causal and then not") << "100/110/111|100/110/011" << MaskPattern::arbitrary;
    QTest::newRow("aligned bottom right") << "110/111" << MaskPattern::arbitrary;
    QTest::newRow("a window") << "110/111/011" << MaskPattern::arbitrary;
    QTest::newRow("nothing is seen") << "000/000" << MaskPattern::key_padding;
    QTest::newRow("a row hides all") << "000/111" << MaskPattern::arbitrary;
  }
  void a_mask_is_called_what_its_contents_are() {
    QFETCH(QString, mask);
    QFETCH(MaskPattern, pattern);
    const std::string text = mask.toStdString();
    QVERIFY(mask_pattern_of(WrittenMask(text, DType::boolean, 0.0F).view) == pattern);
    QVERIFY(mask_pattern_of(WrittenMask(text, DType::float32, -std::numeric_limits<float>::infinity()).view) ==
            pattern);
    QVERIFY(mask_pattern_of(WrittenMask(text, DType::float32, -10000.0F).view) == pattern);
  }

  void a_bias_is_arbitrary_and_a_mask_without_data_is_not_guessed() {
    QVERIFY(mask_pattern_of(WrittenMask("1b/11", DType::float32, 0.0F).view) == MaskPattern::arbitrary);
    WrittenMask shape("111/111", DType::boolean, 0.0F);
    shape.view.data = nullptr;
    QVERIFY(mask_pattern_of(shape.view) == MaskPattern::unknown);
    WrittenMask row("101", DType::boolean, 0.0F);
    row.view.data = nullptr;
    QVERIFY(mask_pattern_of(row.view) == MaskPattern::key_padding);
  }

  void an_expanded_mask_is_read_by_its_strides() {
    WrittenMask row("1100", DType::boolean, 0.0F);
    row.view.shape = {2, 3, 5, 4};
    row.view.stride = {0, 0, 0, 1};
    QVERIFY(mask_pattern_of(row.view) == MaskPattern::key_padding);
    WrittenMask across("100/110/111", DType::boolean, 0.0F);
    std::swap(across.view.stride[2], across.view.stride[3]);  // seen transposed it looks ahead
    QVERIFY(mask_pattern_of(across.view) == MaskPattern::arbitrary);
  }

  void nan_and_inf_are_counted_in_every_type_and_stride() {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    std::vector<double> values(9000, 1.0);
    values[0] = -kInf;
    values[4095] = kNan;
    values[4096] = -kNan;
    values[8999] = kInf;
    std::vector<float> singles(values.begin(), values.end());
    std::vector<std::uint16_t> brains;
    std::vector<std::uint16_t> halves;
    for (const float value : singles) {
      brains.push_back(to_bfloat16(value).bits);
      halves.push_back(to_float16(value).bits);
    }
    const NonFinite expected{2, 2};
    for (const auto& [dtype, data] : {std::pair<DType, void*>{DType::float64, values.data()},
                                      {DType::float32, singles.data()},
                                      {DType::bfloat16, brains.data()},
                                      {DType::float16, halves.data()}}) {
      TensorView view = TensorView::contiguous({3, 3000}, dtype, Device::cpu());
      view.data = data;
      QVERIFY(count_non_finite(view) == expected);
      view.shape = {3000, 3};
      view.stride = {1, 3000};
      QVERIFY(count_non_finite(view) == expected);
      view.shape = {3, 1500};
      view.stride = {3000, 2};  // every other element: the first Inf and the second NaN
      QVERIFY(count_non_finite(view) == (NonFinite{1, 1}));
    }
    QVERIFY(count_non_finite(TensorView::contiguous({3, 3}, DType::bfloat16)) == NonFinite{});
  }

  void an_event_of_a_computed_call_carries_both() {
    std::vector<float> out{1.0F, std::nanf(""), 2.0F, 3.0F};
    WrittenMask mask("1", DType::boolean, 0.0F);
    AttentionCall call;
    call.query = call.key = call.value = call.output = TensorView::contiguous({1, 1, 1, 4}, DType::float32);
    call.output.data = out.data();
    call.attn_mask = mask.view;
    RouteRecord record{call, "a", "a", "a", "a", nullptr, Role::vae, 0, true, 1, 2};
    RouteEvent event = make_event(record);
    QVERIFY(event.mask_pattern == MaskPattern::unknown && event.nan_count == 0);
    look_at_data(record, event);
    QVERIFY(event.mask_pattern == MaskPattern::all_true);
    QCOMPARE(event.nan_count, 1U);
    record.computed = false;
    event = make_event(record);
    look_at_data(record, event);
    QCOMPARE(event.nan_count, 0U);
  }
};

QTEST_GUILESS_MAIN(DataFactsTest)
#include "data_facts_test.moc"
