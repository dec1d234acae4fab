// SPDX-License-Identifier: GPL-3.0-or-later
// INT8 numbers and factors of the device against those of the host kernels, which are the same arithmetic.
#include "backends/simd/quantise.h"
#include "backends/attention_case.h"
#include "backends/cuda/kernels/mean_kernel.h"
#include "backends/cuda/kernels/quantise_kernel.h"
#include "backends/sage/sage_variant.h"
#include "cuda/host_memory.h"

#include <QTest>
#include <cmath>

namespace attn::test {
namespace {

using cuda::FactorGroup;

/// One way to quantise: the device's options beside the host's.
struct Scheme {
  const char* name;
  SageGranularity granularity;
  FactorGroup group;
  int query_block;
  int key_block;
  int warp_rows;
  bool per_token;
  std::int64_t rotation;
};

constexpr Scheme kSchemes[] = {
    {"token", SageGranularity::per_block, FactorGroup::token, 128, 64, 32, true, 0},
    {"token, rotated by 64", SageGranularity::per_block, FactorGroup::token, 128, 64, 32, true, 64},
    {"token, rotated by 32", SageGranularity::per_block, FactorGroup::token, 128, 64, 32, true, 32},
    {"token, rotated by 4", SageGranularity::per_block, FactorGroup::token, 128, 64, 32, true, 4},
    {"block", SageGranularity::per_block, FactorGroup::block, 128, 64, 32, false, 0},
    {"warp", SageGranularity::per_warp, FactorGroup::warp, 128, 64, 32, false, 0},
    {"thread", SageGranularity::per_thread, FactorGroup::thread, 128, 64, 32, false, 0},
    {"thread of 90", SageGranularity::per_thread, FactorGroup::thread, 64, 128, 16, false, 0},
};

constexpr int kTokens = 300;
constexpr int kDim = 64;
constexpr int kPadded = 384;

}  // namespace

class CudaQuantiseTest : public QObject {
  Q_OBJECT

 private slots:
  void numbers_and_factors_are_those_of_the_host_data() {
    QTest::addColumn<int>("scheme");
    QTest::addColumn<bool>("keys");
    for (int i = 0; i < static_cast<int>(std::size(kSchemes)); ++i) {
      const std::string name = kSchemes[i].name;
      QTest::newRow((name + ", queries").c_str()) << i << false;
      QTest::newRow((name + ", keys").c_str()) << i << true;
    }
  }
  void numbers_and_factors_are_those_of_the_host() {
    QFETCH(int, scheme);
    QFETCH(bool, keys);
    const Scheme& wanted = kSchemes[scheme];
    HostTensor rows({1, 1, kTokens, kDim}, DType::bfloat16);
    fill_normal(rows.view(), 31);
    for (std::int64_t i = 0; i < kTokens; ++i) {  // what smoothing is for: a strong channel
      store_element(rows.view(), i * kDim + 5, load_element(rows.view(), i * kDim + 5) + 6.0F);
    }
    std::vector<float> host = elements_of(rows.view());
    std::vector<float> factor;
    if (keys) subtract_mean(host.data(), kTokens, kDim, DType::float32);
    if (wanted.per_token) {
      for (int i = 0; i < kTokens; ++i) hadamard(host.data() + i * kDim, kDim, wanted.rotation);
      quantise_rows(NumberFormat::int8, host.data(), kTokens, kDim, DType::float32, factor);
    } else {
      SageVariant variant;
      variant.granularity = wanted.granularity;
      variant.query_block = wanted.query_block;
      variant.key_block = wanted.key_block;
      variant.warp_rows = wanted.warp_rows;
      quantise_sage(variant, keys, host.data(), kTokens, kDim, factor);
    }

    std::vector<std::uint32_t> numbers(kPadded * kDim / 4, 0xAAAAAAAAU);
    std::vector<float> factors(kPadded, NAN);
    run(wanted, keys, rows.view(), numbers, factors);
    int different = 0;
    for (int i = 0; i < kTokens; ++i) {
      QVERIFY(std::fabs(factors[static_cast<std::size_t>(i)] - factor[static_cast<std::size_t>(i)]) <=
              2e-6F * factor[static_cast<std::size_t>(i)]);
      for (int d = 0; d < kDim; ++d) {
        const int own = static_cast<std::int8_t>(numbers[static_cast<std::size_t>((i * kDim + d) / 4)] >> (d % 4 * 8));
        const int other = static_cast<int>(host[static_cast<std::size_t>(i * kDim + d)]);
        QVERIFY2(std::abs(own - other) <= 1, qPrintable(QString("%1 for %2").arg(own).arg(other)));
        different += own != other ? 1 : 0;
      }
    }
    // A product with the reciprocal and a mean summed in another order differ from the host where a quotient is a half.
    QVERIFY2(different <= kTokens * kDim / 1000, std::to_string(different).c_str());
    for (std::size_t i = kTokens; i < kPadded; ++i) {
      QCOMPARE(factors[i], 0.0F);
      for (std::size_t d = 0; d < kDim / 4; ++d) QCOMPARE(numbers[i * kDim / 4 + d], 0U);
    }
  }

  void rows_of_zeros_have_the_factor_zero_and_zero_numbers() {
    const HostTensor rows({1, 1, kTokens, kDim}, DType::float16);
    std::vector<std::uint32_t> numbers(kPadded * kDim / 4, 1);
    std::vector<float> factors(kPadded, NAN);
    run(kSchemes[0], false, rows.view(), numbers, factors);
    QVERIFY(std::all_of(numbers.begin(), numbers.end(), [](std::uint32_t word) { return word == 0; }));
    QVERIFY(std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 0.0F; }));
  }

 private:
  static void run(const Scheme& wanted, bool keys, const TensorView& rows, std::vector<std::uint32_t>& numbers,
                  std::vector<float>& factors) {
    cuda::QuantiseParams p;
    p.from = {*cuda::device_tensor(rows), kTokens, kDim, true};
    p.heads = 1;
    p.padded_tokens = kPadded;
    p.keys = keys;
    p.group = wanted.group;
    p.block = keys ? wanted.key_block : wanted.query_block;
    p.warp_rows = wanted.warp_rows;
    p.half_away = wanted.group == FactorGroup::block || wanted.group == FactorGroup::thread;
    if (wanted.group == FactorGroup::warp) p.least_largest = 1e-7F;
    if (wanted.group == FactorGroup::thread) p.added = 1e-7F;
    p.rotated_channels = wanted.rotation > 0 ? kDim : 0;
    p.rotation_group = static_cast<int>(wanted.rotation);
    p.numbers = numbers.data();
    p.factors = factors.data();
    std::vector<float> partial(kDim);
    std::vector<float> mean(kDim);
    if (keys) {
      const cuda::MeanParams params{p.from, 1, 1, partial.data(), mean.data()};
      cuda::run_on_host<cuda::PartialMeanKernel<kDim>>(params, {1, 1, 1}, {});
      cuda::run_on_host<cuda::MeanKernel<kDim>>(params, {1, 1, 1}, {});
      p.mean = mean.data();
    }
    const cuda::GridSize grid{kPadded / cuda::kQueryTile, 1, 1};
    wanted.rotation > 0 ? cuda::run_on_host<cuda::QuantiseKernel<kDim, true>>(p, grid, {})
                        : cuda::run_on_host<cuda::QuantiseKernel<kDim, false>>(p, grid, {});
  }
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::CudaQuantiseTest)
#include "quantise_test.moc"
