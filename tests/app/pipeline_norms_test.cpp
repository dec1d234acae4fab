// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/normalization.h"

#include <QtTest/QtTest>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace attn;
using namespace attn::app;

namespace {

std::vector<float> random_numbers(std::size_t count, float centre, float spread, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = centre + spread * (static_cast<float>(engine() & 0xFFFFU) / 32768.0F - 1.0F);
  }
  return numbers;
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

template <class Value>
Moments moments(std::size_t count, Value value) {
  Moments result;
  for (std::size_t i = 0; i < count; ++i) result.mean += static_cast<double>(value(i));
  result.mean /= static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double apart = static_cast<double>(value(i)) - result.mean;
    result.variance += apart * apart;
  }
  result.variance /= static_cast<double>(count);
  return result;
}

constexpr std::size_t kChannels = 32;
constexpr std::size_t kGroups = 8;
constexpr std::int64_t kHeight = 37;  // bands of rows and a shorter last one
constexpr std::int64_t kWidth = 24;

FeatureMap random_map(float centre) {
  FeatureMap x(kHeight, kWidth, kChannels);
  const auto numbers = random_numbers(static_cast<std::size_t>(x.cells()) * kChannels, centre, 1.0F, 5);
  std::copy(numbers.begin(), numbers.end(), x.row(0));
  return x;
}

std::vector<float> group_normed(const FeatureMap& x, GroupNorm::Then then, int threads) {
  const auto weight = random_numbers(kChannels, 1.0F, 0.5F, 1);
  const auto bias = random_numbers(kChannels, 0.0F, 0.5F, 2);
  std::vector<float> result;
  Workers workers(threads);
  workers.enter([&] {
    const GroupNorm norm(weight, bias, kGroups);
    const FeatureMap y = norm.run(x, then, Role::vae, workers);
    result.assign(y.row(0), y.row(0) + y.cells() * y.channels());
  });
  return result;
}

}  // namespace

class PipelineNormsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_layer_norm_is_its_definition_data();
  void a_layer_norm_is_its_definition();
  void a_group_norm_is_its_definition_data();
  void a_group_norm_is_its_definition();
  void a_group_norm_does_not_depend_on_the_threads();
};

void PipelineNormsTest::a_layer_norm_is_its_definition_data() {
  QTest::addColumn<int>("width");
  QTest::addColumn<bool>("learned");
  for (const int width : {128, 192, 17}) {
    QTest::addRow("%d", width) << width << false;
    QTest::addRow("%d learned", width) << width << true;
  }
}

void PipelineNormsTest::a_layer_norm_is_its_definition() {
  QFETCH(const int, width);
  QFETCH(const bool, learned);
  constexpr std::size_t kRows = 5;
  constexpr float kEpsilon = 1e-5F;
  const auto columns = static_cast<std::size_t>(width);
  const auto weight = random_numbers(columns, 1.0F, 0.5F, 1);
  const auto bias = random_numbers(columns, 0.0F, 0.5F, 2);
  const auto x = random_numbers(kRows * columns, 3.0F, 2.0F, 3);
  std::vector<float> y = x;
  Workers workers(1);
  workers.enter([&] {
    const LayerNorm norm = learned ? LayerNorm(weight, bias, kEpsilon, kRows) : LayerNorm(width, kEpsilon, kRows);
    Task task;
    norm.run(y.data(), task);
    QVERIFY(task.onednn().count() > 0);
  });
  for (std::size_t row = 0; row < kRows; ++row) {
    const float* from = x.data() + row * columns;
    const Moments of_row = moments(columns, [from](std::size_t i) { return from[i]; });
    for (std::size_t i = 0; i < columns; ++i) {
      double right = (static_cast<double>(from[i]) - of_row.mean) / std::sqrt(of_row.variance + kEpsilon);
      if (learned) right = right * static_cast<double>(weight[i]) + static_cast<double>(bias[i]);
      QVERIFY2(std::abs(static_cast<double>(y[row * columns + i]) - right) < 3e-6, qPrintable(QString::number(right)));
    }
  }
}

void PipelineNormsTest::a_group_norm_is_its_definition_data() {
  QTest::addColumn<float>("centre");
  QTest::addColumn<bool>("silu");
  QTest::newRow("about zero") << 0.0F << false;
  QTest::newRow("then silu") << 0.0F << true;
  QTest::newRow("far from zero") << 100.0F << false;
}

void PipelineNormsTest::a_group_norm_is_its_definition() {
  QFETCH(const float, centre);
  QFETCH(const bool, silu);
  const FeatureMap x = random_map(centre);
  const auto y = group_normed(x, silu ? GroupNorm::Then::silu : GroupNorm::Then::nothing, 0);
  const auto weight = random_numbers(kChannels, 1.0F, 0.5F, 1);
  const auto bias = random_numbers(kChannels, 0.0F, 0.5F, 2);
  const auto cells = static_cast<std::size_t>(x.cells());
  constexpr std::size_t kPerGroup = kChannels / kGroups;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto at = [&](std::size_t i) { return i / kPerGroup * kChannels + group * kPerGroup + i % kPerGroup; };
    const Moments of_group = moments(cells * kPerGroup, [&](std::size_t i) { return x.row(0)[at(i)]; });
    for (std::size_t i = 0; i < cells * kPerGroup; ++i) {
      const std::size_t channel = at(i) % kChannels;
      double right = (static_cast<double>(x.row(0)[at(i)]) - of_group.mean) / std::sqrt(of_group.variance + 1e-5);
      right = right * static_cast<double>(weight[channel]) + static_cast<double>(bias[channel]);
      if (silu) right /= 1.0 + std::exp(-right);
      // A number of 100 has steps of 7.6e-6, and its distance from the mean is divided by 0.58.
      const double bound = centre > 0.0F ? 5e-5 : 3e-6;
      QVERIFY2(std::abs(static_cast<double>(y[at(i)]) - right) < bound,
               qPrintable(QString("%1 against %2").arg(static_cast<double>(y[at(i)])).arg(right)));
    }
  }
}

void PipelineNormsTest::a_group_norm_does_not_depend_on_the_threads() {
  const FeatureMap x = random_map(0.5F);
  QCOMPARE(group_normed(x, GroupNorm::Then::silu, 1), group_normed(x, GroupNorm::Then::silu, 0));
}

QTEST_GUILESS_MAIN(PipelineNormsTest)
#include "pipeline_norms_test.moc"
