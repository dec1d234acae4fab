// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel_configs.h"

#include <QTest>
#include <cmath>
#include <limits>

namespace attn::test {

/// Calls whose answer can be done in the head, through every way to prepare every backend: O1 to O6 of the field cases.
class ExactOraclesTest : public QObject {
  Q_OBJECT

 private slots:
  void causal_is_aligned_top_left_data() { rows(); }
  void causal_is_aligned_top_left();
  void a_row_without_any_key_gives_zeros_data() { rows(); }
  void a_row_without_any_key_gives_zeros();
  void a_float_mask_of_zeros_and_ones_is_a_bias_data() { rows(); }
  void a_float_mask_of_zeros_and_ones_is_a_bias();
  void each_batch_element_gets_its_own_mask_data() { rows(); }
  void each_batch_element_gets_its_own_mask();
  void a_group_of_heads_shares_its_key_value_head_data() { rows(); }
  void a_group_of_heads_shares_its_key_value_head();
  void heads_and_tokens_are_not_swapped_data() { rows(); }
  void heads_and_tokens_are_not_swapped();
  void the_scale_is_honoured_data() { rows(); }
  void the_scale_is_honoured();
  void an_all_false_mask_is_not_the_unmasked_answer_data() { rows(); }
  void an_all_false_mask_is_not_the_unmasked_answer();
  void masks_of_every_rank_and_dtype_broadcast_data() { rows(); }
  void masks_of_every_rank_and_dtype_broadcast();
  void infinities_in_an_additive_mask_decide_data() { rows(); }
  void infinities_in_an_additive_mask_decide();
  void mixed_dtypes_are_computed_and_the_output_keeps_its_own_data() { rows(); }
  void mixed_dtypes_are_computed_and_the_output_keeps_its_own();
  void what_cannot_be_computed_is_refused_with_a_reason_data() { rows(); }
  void what_cannot_be_computed_is_refused_with_a_reason();

 private:
  void rows();
  [[nodiscard]] const KernelConfig& config() const {
    QFETCH(int, index);
    return configs_[static_cast<std::size_t>(index)];
  }
  const std::vector<KernelConfig> configs_ = kernel_configs();
};

/// Zero queries and keys, and values of which only the first coordinate is set.
struct SmallCall {
  SmallCall(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t queries, std::int64_t keys,
            std::int64_t dim = 8)
      : query({batch, heads, queries, dim}, DType::float32),
        key({batch, kv_heads, keys, dim}, DType::float32),
        value({batch, kv_heads, keys, dim}, DType::float32),
        output({batch, heads, queries, dim}, DType::float32) {
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
    call.enable_gqa = heads != kv_heads;
    std::memset(output.memory().data(), 0xFF, output.memory().size());
  }
  /// Sets value row `row`, counted over batch, heads and tokens.
  void set_value(std::int64_t row, float number) { value.as<float>()[row * call.value_dim()] = number; }
  void set_mask(HostTensor tensor) {
    mask = std::move(tensor);
    call.attn_mask = mask.view();
  }
  /// First coordinate of output row `row`.
  [[nodiscard]] float at(std::int64_t row) const { return output.as<float>()[row * call.value_dim()]; }

  HostTensor query;
  HostTensor key;
  HostTensor value;
  HostTensor mask;
  HostTensor output;
  AttentionCall call;
};

HostTensor bool_mask(std::initializer_list<std::int64_t> shape, const std::vector<int>& flags) {
  HostTensor mask(shape, DType::boolean);
  for (std::size_t i = 0; i < flags.size(); ++i) mask.as<std::uint8_t>()[i] = flags[i] != 0 ? 1 : 0;
  return mask;
}

void ExactOraclesTest::rows() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < configs_.size(); ++i) QTest::newRow(configs_[i].name.c_str()) << static_cast<int>(i);
}

#define RUN(small)                                                                       \
  do {                                                                                   \
    const auto kernel = kernel_of(config().backend, config().target, config().settings); \
    const KernelResult result = kernel->run((small).call, nullptr);                      \
    QVERIFY2(result.failure.empty(), std::string(result.failure).c_str());               \
    QCOMPARE(q(result.backend), q(config().backend));                                    \
  } while (false)

#define NEAR(actual, expected)                                                        \
  QVERIFY2(std::fabs(static_cast<double>(actual) - (expected)) <=                     \
               config().tolerance.exact_oracles * std::max(1.0, std::fabs(expected)), \
           (std::to_string(actual) + " instead of " + std::to_string(expected)).c_str())

void ExactOraclesTest::causal_is_aligned_top_left() {
  SmallCall small(1, 1, 1, 2, 5);
  for (int j = 0; j < 5; ++j) small.set_value(j, static_cast<float>(j + 1));
  small.call.is_causal = true;
  RUN(small);
  NEAR(small.at(0), 1.0);
  NEAR(small.at(1), 1.5);
}

void ExactOraclesTest::a_row_without_any_key_gives_zeros() {
  SmallCall small(1, 1, 1, 2, 4);
  for (int j = 0; j < 4; ++j) small.set_value(j, static_cast<float>(j + 1));
  small.set_mask(bool_mask({1, 1, 2, 4}, {0, 0, 0, 0, 1, 1, 1, 1}));
  RUN(small);
  QCOMPARE(small.at(0), 0.0F);
  NEAR(small.at(1), 2.5);
  QCOMPARE(distance(elements_of(small.output.view()), std::vector<float>(16, 0.0F)).not_finite, std::size_t{0});
}

void ExactOraclesTest::a_float_mask_of_zeros_and_ones_is_a_bias() {
  SmallCall small(1, 1, 1, 2, 4);
  for (int j = 0; j < 4; ++j) small.set_value(j, static_cast<float>(j + 1));
  HostTensor mask({1, 1, 2, 4}, DType::float32);
  std::fill(mask.as<float>() + 4, mask.as<float>() + 8, 1.0F);
  small.set_mask(std::move(mask));
  RUN(small);
  NEAR(small.at(0), 2.5);
  NEAR(small.at(1), 2.5);
}

void ExactOraclesTest::each_batch_element_gets_its_own_mask() {
  SmallCall small(2, 1, 1, 3, 8);
  for (int j = 0; j < 16; ++j) small.set_value(j, static_cast<float>(j % 8));
  small.set_mask(bool_mask({2, 1, 1, 8}, {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  RUN(small);
  for (int i = 0; i < 3; ++i) NEAR(small.at(i), 1.5);
  for (int i = 3; i < 6; ++i) NEAR(small.at(i), 5.5);
}

void ExactOraclesTest::a_group_of_heads_shares_its_key_value_head() {
  SmallCall small(1, 4, 2, 1, 4);
  for (int j = 0; j < 8; ++j) small.set_value(j, static_cast<float>(j / 4 + 1));
  RUN(small);
  NEAR(small.at(0), 1.0);
  NEAR(small.at(1), 1.0);
  NEAR(small.at(2), 2.0);
  NEAR(small.at(3), 2.0);
}

void ExactOraclesTest::heads_and_tokens_are_not_swapped() {
  SmallCall small(1, 4, 4, 4, 4);
  for (int h = 0; h < 4; ++h) {
    for (int s = 0; s < 4; ++s) small.set_value(h * 4 + s, static_cast<float>(10 * h + s));
  }
  RUN(small);
  for (int h = 0; h < 4; ++h) {
    for (int s = 0; s < 4; ++s) NEAR(small.at(h * 4 + s), 10.0 * h + 1.5);
  }
}

void ExactOraclesTest::the_scale_is_honoured() {
  SmallCall small(1, 1, 1, 1, 2, 4);
  small.query.as<float>()[0] = 1.0F;
  small.key.as<float>()[0] = std::log(3.0F);
  small.set_value(0, 0.0F);
  small.set_value(1, 1.0F);
  small.call.scale = 1.0;
  RUN(small);
  NEAR(small.at(0), 0.25);
}

void ExactOraclesTest::an_all_false_mask_is_not_the_unmasked_answer() {
  SmallCall small(1, 8, 8, 10, 10, 64);
  fill_normal(small.query.view(), 1);
  fill_normal(small.key.view(), 2);
  fill_normal(small.value.view(), 3);
  small.set_mask(bool_mask({1, 1, 10, 10}, std::vector<int>(100, 0)));
  RUN(small);
  for (const float number : elements_of(small.output.view())) QCOMPARE(number, 0.0F);
}

void ExactOraclesTest::masks_of_every_rank_and_dtype_broadcast() {
  const std::vector<std::vector<std::int64_t>> shapes{{6},          {1, 6},       {5, 1},          {3, 1, 6},
                                                      {2, 1, 1, 6}, {2, 3, 5, 6}, {1, 2, 3, 5, 6}, {}};
  for (const auto& shape : shapes) {
    for (const DType dtype : {DType::boolean, DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
      SmallCall small(2, 3, 3, 5, 6, 64);
      fill_normal(small.query.view(), 31);
      fill_normal(small.key.view(), 32);
      fill_normal(small.value.view(), 33);
      HostTensor mask(shape, dtype);
      fill_normal(mask.view(), 34);
      if (dtype == DType::boolean) {
        for (std::int64_t i = 0; i < mask.view().elements(); ++i) mask.as<std::uint8_t>()[i] = i % 3 == 0 ? 0 : 1;
      }
      small.set_mask(std::move(mask));
      RUN(small);
      const Distance far = distance(elements_of(small.output.view()), reference_attention(small.call));
      QVERIFY2(far.relative_l1 <= 1.5 * config().tolerance.fp32,
               (shape_text(shape) + " " + std::to_string(far.relative_l1)).c_str());
    }
  }
}

void ExactOraclesTest::infinities_in_an_additive_mask_decide() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  SmallCall small(1, 1, 1, 3, 4);
  for (int j = 0; j < 4; ++j) small.set_value(j, static_cast<float>(j + 1));
  HostTensor mask({3, 4}, DType::float32);
  const float rows[12] = {-kInfinity, 0,          -kInfinity, 0,            // keys 1 and 3: (2 + 4) / 2
                          -kInfinity, -kInfinity, -kInfinity, -kInfinity,   // nothing
                          0,          kInfinity,  0,          -kInfinity};  // all the weight on key 1
  std::copy(rows, rows + 12, mask.as<float>());
  small.set_mask(std::move(mask));
  RUN(small);
  NEAR(small.at(0), 3.0);
  QCOMPARE(small.at(1), 0.0F);
  NEAR(small.at(2), 2.0);
}

void ExactOraclesTest::mixed_dtypes_are_computed_and_the_output_keeps_its_own() {
  SmallCall small(1, 3, 3, 40, 64, 64);
  fill_normal(small.query.view(), 41);
  fill_normal(small.key.view(), 42);
  fill_normal(small.value.view(), 43);
  const HostTensor key = converted(small.key.view(), DType::float16);
  const HostTensor value = converted(small.value.view(), DType::bfloat16);
  HostTensor output({1, 3, 40, 64}, DType::float64);
  small.call.key = key.view();
  small.call.value = value.view();
  small.call.output = output.view();
  RUN(small);
  const Distance far = distance(elements_of(output.view()), reference_attention(small.call));
  QVERIFY2(far.relative_l1 <= std::max(config().tolerance.fp32, config().tolerance.bf16),
           std::to_string(far.relative_l1).c_str());
}

void ExactOraclesTest::what_cannot_be_computed_is_refused_with_a_reason() {
  const auto kernel = kernel_of(config().backend, config().target, config().settings);
  const auto why = [&](const AttentionCall& call, const BlockSelection* selection = nullptr) {
    return std::string(kernel->run(call, selection).failure);
  };
  SmallCall small(2, 1, 1, 2, 2, 16);
  AttentionCall dropout = small.call;
  dropout.dropout_p = 0.1;
  QVERIFY(why(dropout).find("dropout_p") != std::string::npos);
  AttentionCall dataless = small.call;
  dataless.query.data = nullptr;
  QCOMPARE(why(dataless), std::string("the call has no data"));
  AttentionCall no_output = small.call;
  no_output.output = {};
  QVERIFY(!why(no_output).empty());
  AttentionCall other_key = small.call;
  other_key.key.shape[3] = 8;
  QVERIFY(!why(other_key).empty());

  // A block mask made for 128 x 256 tokens meets a call of 2 x 2.
  BlockSelection longer;
  longer.query_tiles = 1;
  longer.key_tiles = 4;
  longer.keep.assign(4, 1);
  const std::string refused = why(small.call, &longer);
  QVERIFY(!refused.empty());
  if (config().block_mask) {
    QCOMPARE(refused, std::string("the block selection has another geometry than the call"));
    const KernelForecast forecast = kernel->forecast(small.call, &longer);
    QCOMPARE(forecast.warnings.size(), std::size_t{1});
    QVERIFY2(forecast.warnings[0].find("128 x 256") != std::string::npos &&
                 forecast.warnings[0].find("2 x 2") != std::string::npos,
             forecast.warnings[0].c_str());
  }
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::ExactOraclesTest)
#include "exact_oracles_test.moc"
