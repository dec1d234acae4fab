// SPDX-License-Identifier: GPL-3.0-or-later
#include "attention_case.h"
#include "backends/sage/sage_variant.h"

#include <QTest>
#include <set>

namespace attn::test {

class SageTest : public QObject {
  Q_OBJECT

 private slots:
  void the_capability_decides_the_kernel_data();
  void the_capability_decides_the_kernel();
  void ampere_gets_the_cuda_kernel_and_the_reason_names_the_arch();
  void tokens_share_a_factor_as_their_granularity_says();
  void an_outlier_coarsens_only_its_own_group();
  void errors_stay_below_the_published_ones_data();
  void errors_stay_below_the_published_ones();
  void a_shift_of_all_keys_changes_nothing_data() { variants(); }
  void a_shift_of_all_keys_changes_nothing();
  void an_outlier_channel_of_the_values_leaves_the_others_alone();
  void fp32_sums_stay_finite_where_fp16_ones_overflow();
  void large_activations_stay_finite_data() { variants(); }
  void large_activations_stay_finite();
  void the_forecast_counts_the_quantised_copies();

 private:
  void variants();
};

/// Capability 0: the Triton kernel.
Target sage_target(int capability) { return capability == 0 ? machine("rocm") : machine("cuda", capability); }

void SageTest::variants() {
  QTest::addColumn<int>("capability");
  for (const int capability : {0, 80, 86, 89, 90, 120}) QTest::addRow("capability %d", capability) << capability;
}

struct NormalCall {
  NormalCall(std::int64_t queries, std::int64_t keys, std::int64_t dim, DType dtype = DType::float16)
      : query({1, 2, queries, dim}, dtype),
        key({1, 2, keys, dim}, dtype),
        value({1, 2, keys, dim}, dtype),
        output({1, 2, queries, dim}, dtype) {
    fill_normal(query.view(), 1);
    fill_normal(key.view(), 2);
    fill_normal(value.view(), 3);
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
  }
  [[nodiscard]] Distance run(int capability) const {
    const KernelResult result = kernel_of("sage", sage_target(capability))->run(call, nullptr);
    return result.failure.empty() ? distance(elements_of(output.view()), reference_attention(call))
                                  : Distance{1e9, -1.0, 1e9, 1};
  }
  HostTensor query, key, value, output;
  AttentionCall call;
};

void SageTest::the_capability_decides_the_kernel_data() {
  QTest::addColumn<QString>("platform");
  QTest::addColumn<int>("capability");
  QTest::addColumn<QString>("variant");
  QTest::newRow("A100") << "cuda" << 80 << "cuda fp32-accum";
  QTest::newRow("RTX 3090") << "cuda" << 86 << "cuda fp32-accum";
  QTest::newRow("RTX 4090") << "cuda" << 89 << "cuda fp8";
  QTest::newRow("H100") << "cuda" << 90 << "cuda fp8 sm90";
  QTest::newRow("RTX 5090") << "cuda" << 120 << "cuda fp8";
  QTest::newRow("GB10") << "cuda" << 121 << "cuda fp8";
  QTest::newRow("unknown") << "cuda" << 0 << "triton";
  QTest::newRow("rocm") << "rocm" << 0 << "triton";
  QTest::newRow("zluda reports 8.8") << "zluda" << 88 << "triton";
}

void SageTest::the_capability_decides_the_kernel() {
  QFETCH(QString, platform);
  QFETCH(int, capability);
  QFETCH(QString, variant);
  const auto kernel =
      kernel_of("sage", machine(platform.toStdString(), capability == 0 ? std::nullopt : std::optional(capability)));
  QVERIFY(kernel != nullptr);
  NormalCall made(64, 64, 64);
  QCOMPARE(q(kernel->route(made.call, nullptr).variant), variant);
  QCOMPARE(q(kernel->run(made.call, nullptr).variant), variant);
}

void SageTest::ampere_gets_the_cuda_kernel_and_the_reason_names_the_arch() {
  AttentionCall call;
  call.query = call.key = call.value = TensorView::contiguous({1, 24, 4352, 128}, DType::bfloat16);
  const KernelForecast forecast = kernel_of("sage", machine("cuda", 86))->forecast(call, nullptr);
  QCOMPARE(q(forecast.would_run.variant), q("cuda fp32-accum"));
  QCOMPARE(forecast.choices.size(), std::size_t{4});
  QVERIFY(forecast.choices[0].ok);
  QCOMPARE(q(forecast.choices[0].reason), q("chosen for compute capability 8.6"));
  QCOMPARE(q(forecast.choices[3].check), q("triton"));
  QCOMPARE(q(forecast.choices[3].reason), q("compute capability 8.6: the Triton kernel gives NaN here"));
}

void SageTest::tokens_share_a_factor_as_their_granularity_says() {
  const SageVariant block{"", SageGranularity::per_block, 128, 32, 64};
  const SageVariant warp{"", SageGranularity::per_warp, 128, 32, 64};
  const SageVariant thread{"", SageGranularity::per_thread, 128, 32, 64};
  const auto groups = [](const SageVariant& variant, bool keys) {
    std::map<int, int> sizes;
    for (int i = 0; i < (keys ? variant.key_block : variant.query_block); ++i) {
      ++sizes[keys ? key_group(variant, i) : query_group(variant, i)];
    }
    return std::pair(sizes.size(), sizes.begin()->second);
  };
  QVERIFY(groups(block, false) == std::pair(std::size_t{1}, 128));
  QVERIFY(groups(block, true) == std::pair(std::size_t{1}, 64));
  QVERIFY(groups(warp, false) == std::pair(std::size_t{4}, 32));
  QVERIFY(groups(warp, true) == std::pair(std::size_t{1}, 64));
  QVERIFY(groups(thread, false) == std::pair(std::size_t{32}, 4));
  QVERIFY(groups(thread, true) == std::pair(std::size_t{4}, 16));
  // Keys 0, 1, 8, 9, ... of a block; query rows 0, 8, 16, 24 of a warp.
  QCOMPARE(key_group(thread, 0), key_group(thread, 9));
  QVERIFY(key_group(thread, 1) != key_group(thread, 2));
  QCOMPARE(query_group(thread, 0), query_group(thread, 24));
  QVERIFY(query_group(thread, 0) != query_group(thread, 32));
}

void SageTest::an_outlier_coarsens_only_its_own_group() {
  for (const SageGranularity granularity :
       {SageGranularity::per_block, SageGranularity::per_warp, SageGranularity::per_thread}) {
    const SageVariant variant{"", granularity, 128, 32, 64};
    std::vector<float> rows(300 * 4, 1.0F);  // two whole blocks and a ragged one
    rows[130 * 4] = 1000.0F;
    std::vector<float> factor;
    quantise_sage(variant, false, rows.data(), 300, 4, factor);
    for (std::size_t i = 0; i < 300; ++i) {
      const bool same =
          i / 128 == 1 && query_group(variant, static_cast<std::int64_t>(i % 128)) == query_group(variant, 2);
      QVERIFY2((factor[i] > 1.0F) == same, std::to_string(i).c_str());
      if (!same) QVERIFY(std::fabs(rows[i * 4 + 1] - 127.0F) < 0.5F);
    }
  }
}

void SageTest::errors_stay_below_the_published_ones_data() {
  QTest::addColumn<int>("capability");
  QTest::addColumn<int>("dim");
  QTest::addColumn<double>("relative_l1");
  QTest::addColumn<double>("cosine");
  // Published for normal input: per-token 0.019, per-block 0.021, cosine 1.0; for e4m3 values 0.0345 over real layers.
  for (const int dim : {64, 96, 128}) {
    QTest::addRow("triton, per block, dim %d", dim) << 0 << dim << 0.021 << 0.9997;
    QTest::addRow("8.0, per thread, dim %d", dim) << 80 << dim << 0.019 << 0.9997;
    QTest::addRow("8.9, e4m3 values, dim %d", dim) << 89 << dim << 0.04 << 0.999;
    QTest::addRow("9.0, e4m3 values, dim %d", dim) << 90 << dim << 0.04 << 0.999;
    QTest::addRow("12.0, per warp, dim %d", dim) << 120 << dim << 0.04 << 0.999;
  }
}

void SageTest::errors_stay_below_the_published_ones() {
  QFETCH(int, capability);
  QFETCH(int, dim);
  QFETCH(double, relative_l1);
  QFETCH(double, cosine);
  const Distance far = NormalCall(300, 400, dim).run(capability);
  QVERIFY2(far.relative_l1 <= relative_l1, std::to_string(far.relative_l1).c_str());
  QVERIFY2(far.cosine >= cosine, std::to_string(far.cosine).c_str());
  QVERIFY2(far.relative_l1 > 1e-3, "no error at all: nothing was quantised");
}

void SageTest::a_shift_of_all_keys_changes_nothing() {
  QFETCH(int, capability);
  NormalCall made(130, 200, 64, DType::float32);
  const auto kernel = kernel_of("sage", sage_target(capability));
  QVERIFY(kernel->run(made.call, nullptr).failure.empty());
  const std::vector<float> before = elements_of(made.output.view());
  for (std::int64_t i = 0; i < made.key.view().elements(); ++i) made.key.as<float>()[i] += i % 64 == 5 ? 40.0F : 3.0F;
  QVERIFY(kernel->run(made.call, nullptr).failure.empty());
  // What is left is the rounding of the shifted keys in fp32, which can move a whole number to its neighbour.
  QVERIFY(distance(elements_of(made.output.view()), before).relative_l1 < 2e-3);
}

void SageTest::an_outlier_channel_of_the_values_leaves_the_others_alone() {
  NormalCall made(64, 128, 64, DType::float32);
  const auto kernel = kernel_of("sage", sage_target(89));
  QVERIFY(kernel->run(made.call, nullptr).failure.empty());
  const std::vector<float> before = elements_of(made.output.view());
  for (std::int64_t i = 7; i < made.value.view().elements(); i += 64) made.value.as<float>()[i] *= 1000.0F;
  QVERIFY(kernel->run(made.call, nullptr).failure.empty());
  const std::vector<float> after = elements_of(made.output.view());
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (i % 64 != 7) QCOMPARE(after[i], before[i]);
  }
}

void SageTest::fp32_sums_stay_finite_where_fp16_ones_overflow() {
  // Values of 2000 with equal weights: the sum over one tile of 64 keys leaves fp16, the mean does not.
  NormalCall made(64, 64, 64);
  for (std::int64_t i = 0; i < made.value.view().elements(); ++i) {
    store_element(made.value.view(), i, 2000.0F);
    store_element(made.key.view(), i, 0.0F);
  }
  QVERIFY(made.run(0).not_finite > 0);
  const Distance far = made.run(86);
  QCOMPARE(far.not_finite, std::size_t{0});
  QCOMPARE(far.max_abs, 0.0);
}

void SageTest::large_activations_stay_finite() {
  QFETCH(int, capability);
  NormalCall made(150, 170, 128, DType::bfloat16);
  fill_normal(made.query.view(), 4, 80.0F);
  fill_normal(made.key.view(), 5, 80.0F);
  QCOMPARE(made.run(capability).not_finite, std::size_t{0});
}

void SageTest::the_forecast_counts_the_quantised_copies() {
  AttentionCall call;
  call.query = TensorView::contiguous({2, 8, 1000, 64}, DType::bfloat16);
  call.key = call.value = TensorView::contiguous({2, 2, 500, 64}, DType::bfloat16);
  call.enable_gqa = true;
  const std::int64_t int8 = 2 * 8 * 1000 * 64 + 2 * 2 * 500 * 64;
  const std::int64_t values = 2 * 2 * 500 * 64;
  QCOMPARE(kernel_of("sage", sage_target(80))->forecast(call, nullptr).memory_bytes, int8 + 2 * values);
  QCOMPARE(kernel_of("sage", sage_target(89))->forecast(call, nullptr).memory_bytes, int8 + values);
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::SageTest)
#include "sage_test.moc"
