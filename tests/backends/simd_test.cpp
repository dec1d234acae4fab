// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/quantise.h"
#include "backends/simd/rounding.h"
#include "backends/simd/tile_math.h"
#include "core/tensor/half.h"

#include <QTest>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace attn::test {

class SimdTest : public QObject {
  Q_OBJECT

 private slots:
  void rounding_to_half_is_that_of_the_conversion();
  void rounding_to_bfloat_is_that_of_the_conversion();
  void rounding_to_e4m3_takes_the_nearest_code();
  void rounding_to_whole_numbers_breaks_ties_as_named();
  void the_best_version_comes_first_and_a_fallback_last();
  void rounding_a_row_is_rounding_each();
  void products_agree_with_float64_data();
  void products_agree_with_float64();
  void int8_products_are_exact();
  void softmax_over_pieces_is_softmax_over_the_whole();
  void softmax_keeps_what_is_not_a_number();
  void hadamard_is_symmetric_orthonormal_and_its_own_inverse();
  void hadamard_of_order_four_has_one_minus_a_row();
  void hadamard_groups_follow_the_setting();
  void a_row_of_zeros_stays_zero_in_every_format();
  void quantised_rows_lie_within_half_a_step_data();
  void quantised_rows_lie_within_half_a_step();
  void the_mean_is_taken_over_tokens();

 private:
  std::mt19937 random_{1234};
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A float of any exponent that matters to the narrow formats.
float wide(std::mt19937& random) {
  const float mantissa = std::uniform_real_distribution<float>(1.0F, 2.0F)(random);
  const int exponent = std::uniform_int_distribution<int>(-40, 40)(random);
  return std::ldexp((random() & 1U) != 0 ? mantissa : -mantissa, exponent);
}

void SimdTest::rounding_to_half_is_that_of_the_conversion() {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = to_float(Float16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) {
      QVERIFY(std::isnan(round_to_half(value)));
    } else {
      QCOMPARE(round_to_half(value), value);
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const float value = wide(random_);
    QCOMPARE(round_to_half(value), to_float(to_float16(value)));
  }
  for (const float value : {65519.9F, 65520.0F, -70000.0F, 0x1p-25F, 0x1.8p-24F, 0x1.ffcp-15F, 0.0F}) {
    QCOMPARE(round_to_half(value), to_float(to_float16(value)));
  }
}

void SimdTest::rounding_to_bfloat_is_that_of_the_conversion() {
  for (int i = 0; i < 200000; ++i) {
    const float value = wide(random_);
    QCOMPARE(round_to_bfloat(value), to_float(to_bfloat16(value)));
  }
  QVERIFY(std::isnan(round_to_bfloat(std::nanf(""))));
  QCOMPARE(round_to_bfloat(kInfinity), kInfinity);
}

void SimdTest::rounding_to_e4m3_takes_the_nearest_code() {
  // The codes of e4m3fn from its definition: 4 exponent bits with bias 7, 3 fraction bits, 0x7F is NaN.
  std::vector<float> codes;
  for (int code = 0; code < 0x7F; ++code) {
    const int exponent = code >> 3;
    const auto fraction = static_cast<float>(code & 7);
    codes.push_back(exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8.0F + fraction, exponent - 10));
  }
  QCOMPARE(codes.back(), 448.0F);
  const auto nearest = [&codes](float value) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < codes.size(); ++i) {
      const double distance = std::fabs(static_cast<double>(codes[i]) - std::fabs(static_cast<double>(value)));
      const double least = std::fabs(static_cast<double>(codes[best]) - std::fabs(static_cast<double>(value)));
      if (distance < least || (distance == least && i % 2 == 0)) best = i;
    }
    return std::copysign(codes[best], value);
  };
  for (int i = 0; i < 20000; ++i) {
    const float value = wide(random_);
    QCOMPARE(round_to_e4m3(value), nearest(value));
  }
  for (std::size_t i = 1; i < codes.size(); ++i) {
    QCOMPARE(round_to_e4m3(codes[i]), codes[i]);
    const float middle = (codes[i - 1] + codes[i]) / 2.0F;
    QCOMPARE(round_to_e4m3(-middle), nearest(-middle));
  }
  QCOMPARE(round_to_e4m3(1e9F), 448.0F);
  QCOMPARE(round_to_e4m3(-kInfinity), -448.0F);
  QCOMPARE(round_to_e4m3(std::nanf("")), 0.0F);
}

void SimdTest::rounding_to_whole_numbers_breaks_ties_as_named() {
  QCOMPARE(round_half_even(2.5F), 2.0F);
  QCOMPARE(round_half_even(-3.5F), -4.0F);
  QCOMPARE(round_half_away(2.5F), 3.0F);
  QCOMPARE(round_half_away(-2.5F), -3.0F);
  for (int i = -1270; i <= 1270; ++i) {
    const float value = static_cast<float>(i) / 10.0F + 0.01F;
    QCOMPARE(round_half_even(value), std::nearbyint(value));
    QCOMPARE(round_half_away(value), std::round(value));
  }
}

void SimdTest::the_best_version_comes_first_and_a_fallback_last() {
  QVERIFY(!tile_math_versions().empty());
  QCOMPARE(tile_math_versions().front(), &tile_math());
  QCOMPARE(std::string(tile_math_versions().back()->name), std::string("baseline"));
}

void SimdTest::rounding_a_row_is_rounding_each() {
  std::vector<float> row(1037);
  for (float& value : row) value = wide(random_);
  std::vector<float> wanted = row;
  for (float& value : wanted) value = round_to_half(value);
  for (const TileMath* math : tile_math_versions()) {
    std::vector<float> rounded = row;
    math->round_half_row(rounded.data(), static_cast<std::int64_t>(rounded.size()));
    QVERIFY2(rounded == wanted, math->name);
  }
}

void SimdTest::products_agree_with_float64_data() {
  QTest::addColumn<int>("rows");
  QTest::addColumn<int>("depth");
  QTest::addColumn<int>("columns");
  for (const int rows : {0, 1, 5, 8, 17, 64}) {
    for (const int depth : {0, 1, 7, 64, 129}) {
      for (const int columns : {16, 32, 48, 112})
        QTest::addRow("%dx%dx%d", rows, depth, columns) << rows << depth << columns;
    }
  }
}

/// Every version, once replacing and once adding.
std::vector<std::pair<const TileMath*, bool>> versions_and_flags() {
  std::vector<std::pair<const TileMath*, bool>> all;
  for (const TileMath* math : tile_math_versions()) {
    all.emplace_back(math, false);
    all.emplace_back(math, true);
  }
  return all;
}

void SimdTest::products_agree_with_float64() {
  QFETCH(int, rows);
  QFETCH(int, depth);
  QFETCH(int, columns);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const int a_step = depth + 3;
  const int b_step = columns + 5;
  const int c_step = columns + 7;
  std::normal_distribution<float> normal;
  std::vector<float> a(at(rows * a_step));
  std::vector<float> b(at(depth * b_step));
  std::vector<float> c(at(rows * c_step), 2.0F);
  for (float& value : a) value = normal(random_);
  for (float& value : b) value = normal(random_);
  for (const auto& [math, accumulate] : versions_and_flags()) {
    std::vector<float> out = c;
    math->multiply(a.data(), a_step, b.data(), b_step, out.data(), c_step, rows, depth, columns, accumulate);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < c_step; ++j) {
        double wanted = accumulate || j >= columns ? 2.0 : 0.0;
        for (int k = 0; k < depth && j < columns; ++k) {
          wanted += static_cast<double>(a[at(i * a_step + k)]) * static_cast<double>(b[at(k * b_step + j)]);
        }
        QVERIFY(std::fabs(static_cast<double>(out[at(i * c_step + j)]) - wanted) < 1e-4);
      }
    }
  }
}

void SimdTest::int8_products_are_exact() {
  constexpr int kDepth = 1024;
  std::vector<float> a(kDepth);
  std::vector<float> b(kDepth * 16);
  std::vector<float> c(16);
  for (int round = 0; round < 20; ++round) {
    std::uniform_int_distribution<int> any(round == 0 ? 127 : -127, 127);  // first the largest sum there is
    for (float& value : a) value = static_cast<float>(any(random_));
    for (float& value : b) value = static_cast<float>(any(random_));
    const TileMath& math = *tile_math_versions()[static_cast<std::size_t>(round) % tile_math_versions().size()];
    math.multiply(a.data(), kDepth, b.data(), 16, c.data(), 16, 1, kDepth, 16, false);
    for (std::size_t j = 0; j < 16; ++j) {
      std::int64_t wanted = 0;
      for (std::size_t k = 0; k < kDepth; ++k)
        wanted += static_cast<std::int64_t>(a[k]) * static_cast<std::int64_t>(b[k * 16 + j]);
      QCOMPARE(static_cast<std::int64_t>(c[j]), wanted);
    }
  }
}

void SimdTest::softmax_over_pieces_is_softmax_over_the_whole() {
  std::vector<double> scores;
  std::uniform_real_distribution<double> any(-60.0, 60.0);
  for (int i = 0; i < 300; ++i) scores.push_back(static_cast<double>(static_cast<float>(any(random_))));
  double maximum = -1e9;
  double sum = 0.0;
  for (const double score : scores) maximum = std::max(maximum, score);
  for (const double score : scores) sum += std::exp(score - maximum);

  for (std::size_t at = 0; at < 4 * tile_math_versions().size(); ++at) {
    const std::size_t piece = std::array<std::size_t, 4>{1, 7, 64, 300}[at % 4];
    const TileMath& math = *tile_math_versions()[at / 4];
    RowState state{-kInfinity, 0.0F};
    std::vector<double> weights;
    for (std::size_t first = 0; first < scores.size(); first += piece) {
      std::vector<float> row;
      for (std::size_t j = first; j < std::min(first + piece, scores.size()); ++j)
        row.push_back(static_cast<float>(scores[j]));
      const float before = math.softmax_row(row.data(), static_cast<std::int64_t>(row.size()), &state);
      for (double& weight : weights) weight *= static_cast<double>(before);
      for (const float p : row) weights.push_back(static_cast<double>(p));
    }
    QCOMPARE(static_cast<double>(state.maximum), maximum);
    QVERIFY(std::fabs(static_cast<double>(state.sum) / sum - 1.0) < 1e-6);
    for (std::size_t j = 0; j < scores.size(); ++j)
      QVERIFY(std::fabs(weights[j] - std::exp(scores[j] - maximum)) < 1e-6);
  }
}

void SimdTest::softmax_keeps_what_is_not_a_number() {
  std::vector<float> row{0.0F, std::nanf(""), 1.0F};
  RowState state{-kInfinity, 0.0F};
  tile_math().softmax_row(row.data(), 3, &state);
  QVERIFY(std::isnan(state.sum));
  std::vector<float> none(20, -kInfinity);
  RowState empty{-kInfinity, 0.0F};
  tile_math().softmax_row(none.data(), 20, &empty);
  QCOMPARE(empty.sum, 0.0F);
  QVERIFY(none == std::vector<float>(20, 0.0F));
}

/// The matrix that hadamard() multiplies by: its action on the unit vectors.
std::vector<std::vector<float>> matrix_of(std::int64_t group) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t i = 0; i < group; ++i) {
    std::vector<float> row(static_cast<std::size_t>(group), 0.0F);
    row[static_cast<std::size_t>(i)] = 1.0F;
    hadamard(row.data(), group, group);
    rows.push_back(std::move(row));
  }
  return rows;
}

void SimdTest::hadamard_is_symmetric_orthonormal_and_its_own_inverse() {
  for (const std::int64_t group : {4, 8, 16, 32, 64, 128, 256}) {
    const auto matrix = matrix_of(group);
    const float size = 1.0F / std::sqrt(static_cast<float>(group));
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      for (std::size_t j = 0; j < matrix.size(); ++j) {
        QVERIFY(std::fabs(std::fabs(matrix[i][j]) - size) < 1e-6F);
        QCOMPARE(matrix[i][j], matrix[j][i]);
        double dot = 0.0;
        for (std::size_t k = 0; k < matrix.size(); ++k)
          dot += static_cast<double>(matrix[i][k]) * static_cast<double>(matrix[j][k]);
        QVERIFY(std::fabs(dot - (i == j ? 1.0 : 0.0)) < 1e-6);
      }
    }
    std::vector<float> row(static_cast<std::size_t>(2 * group));
    for (float& value : row) value = std::normal_distribution<float>()(random_);
    const std::vector<float> before = row;
    hadamard(row.data(), 2 * group, group);
    hadamard(row.data(), 2 * group, group);
    for (std::size_t i = 0; i < row.size(); ++i) QVERIFY(std::fabs(row[i] - before[i]) < 1e-5F);
  }
}

void SimdTest::hadamard_of_order_four_has_one_minus_a_row() {
  const auto matrix = matrix_of(4);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) QCOMPARE(matrix[i][j], i + j == 3 ? -0.5F : 0.5F);
  }
  // Order 8 is no power of 4: Sylvester's, whose first row has no minus at all.
  const auto eight = matrix_of(8);
  for (const float value : eight[0]) QVERIFY(value > 0.0F);
}

void SimdTest::hadamard_groups_follow_the_setting() {
  QCOMPARE(hadamard_group(256, 64), std::int64_t{64});
  QCOMPARE(hadamard_group(256, 128), std::int64_t{128});
  QCOMPARE(hadamard_group(32, 128), std::int64_t{32});
  QCOMPARE(hadamard_group(100, 128), std::int64_t{128});
  QCOMPARE(hadamard_group(33, 128), std::int64_t{64});
  QCOMPARE(hadamard_group(1024, 1), std::int64_t{0});
  QCOMPARE(hadamard_group(2, 128), std::int64_t{0});
  QCOMPARE(hadamard_group(4, 128), std::int64_t{4});
}

void SimdTest::a_row_of_zeros_stays_zero_in_every_format() {
  for (const NumberFormat format : {NumberFormat::int8, NumberFormat::e4m3, NumberFormat::fp16}) {
    std::vector<float> rows(32, 0.0F);
    std::vector<float> factor;
    quantise_rows(format, rows.data(), 2, 16, DType::float32, factor);
    QVERIFY(rows == std::vector<float>(32, 0.0F));
    QVERIFY(factor == std::vector<float>(2, 0.0F));
  }
}

void SimdTest::quantised_rows_lie_within_half_a_step_data() {
  QTest::addColumn<int>("format");
  QTest::addColumn<double>("step");  // of the largest magnitude, relative to it
  QTest::newRow("int8") << static_cast<int>(NumberFormat::int8) << 1.0 / 127.0;
  QTest::newRow("e4m3") << static_cast<int>(NumberFormat::e4m3) << 32.0 / 448.0;
  QTest::newRow("fp16") << static_cast<int>(NumberFormat::fp16) << 32.0 / 65504.0;
}

void SimdTest::quantised_rows_lie_within_half_a_step() {
  QFETCH(int, format);
  QFETCH(double, step);
  constexpr std::int64_t kRows = 40;
  constexpr std::int64_t kWidth = 64;
  std::vector<float> rows(kRows * kWidth);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Each row its own magnitude, over nine orders: a factor that leaks from one row to the next would show.
    rows[i] = std::normal_distribution<float>()(random_) * std::pow(10.0F, static_cast<float>(i / kWidth % 9) - 4.0F);
  }
  const std::vector<float> before = rows;
  std::vector<float> factor;
  quantise_rows(static_cast<NumberFormat>(format), rows.data(), kRows, kWidth, DType::float32, factor);
  const float largest = largest_of(static_cast<NumberFormat>(format));
  for (std::size_t row = 0; row < kRows; ++row) {
    float found = 0.0F;
    for (std::size_t d = row * kWidth; d < (row + 1) * kWidth; ++d) {
      found = std::max(found, std::fabs(rows[d]));
      const double error =
          std::fabs(static_cast<double>(rows[d]) * static_cast<double>(factor[row]) - static_cast<double>(before[d]));
      QVERIFY(error <= 0.501 * step * static_cast<double>(largest * factor[row]));
    }
    QCOMPARE(found, largest);
  }
}

void SimdTest::the_mean_is_taken_over_tokens() {
  std::vector<float> rows{1.0F, 10.0F, 3.0F, 30.0F, 5.0F, 50.0F};
  subtract_mean(rows.data(), 3, 2, DType::float32);
  QVERIFY((rows == std::vector<float>{-2.0F, -20.0F, 0.0F, 0.0F, 2.0F, 20.0F}));
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::SimdTest)
#include "simd_test.moc"
