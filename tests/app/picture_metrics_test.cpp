// SPDX-License-Identifier: GPL-3.0-or-later
// PSNR, SSIM and the difference image against values worked out by hand.
#include "app/jobs/pipeline/picture_metrics.h"

#include <QtTest>
#include <cmath>
#include <functional>

using namespace attn;
using namespace attn::app;

namespace {

Picture filled(std::int64_t width, std::int64_t height, const std::function<int(std::int64_t, std::int64_t, int)>& at) {
  Picture made{width, height, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) made.rgb.push_back(static_cast<std::uint8_t>(at(x, y, c)));
    }
  }
  return made;
}

Picture flat(int value, std::int64_t side = 16) {
  return filled(side, side, [value](auto, auto, int) { return value; });
}

bool near(double a, double b, double tolerance = 1e-6) { return std::abs(a - b) <= tolerance; }

}  // namespace

class PictureMetricsTest : public QObject {
  Q_OBJECT

 private slots:
  void psnr_of_known_errors_data() {
    QTest::addColumn<double>("error");
    QTest::addColumn<double>("psnr");
    QTest::newRow("one level everywhere") << 1.0 << 48.130803608679;
    QTest::newRow("ten levels everywhere") << 100.0 << 28.130803608679;
    QTest::newRow("black and white") << 65025.0 << 0.0;
  }
  void psnr_of_known_errors() {
    QFETCH(double, error);
    QFETCH(double, psnr);
    QVERIFY(near(psnr_of(error), psnr, 1e-9));
  }

  void equal_pictures_are_infinitely_near() {
    const auto distance = distance_of(flat(90), flat(90));
    QVERIFY(distance.has_value());
    QCOMPARE(distance->mean_squared_error, 0.0);
    QCOMPARE(distance->largest, 0);
    QVERIFY(std::isinf(distance->psnr));
    QCOMPARE(distance->ssim, 1.0);
    QVERIFY(near(ssim_of(flat(90), flat(90)), 1.0, 1e-12));
  }

  void one_channel_of_one_pixel_counts_by_its_share() {
    // 16 * 16 * 3 channels, one of them 48 levels away: 48^2 / 768 = 3.
    Picture other = flat(90);
    other.rgb[0] = 138;
    const auto distance = distance_of(flat(90), other);
    QVERIFY(distance.has_value());
    QCOMPARE(distance->mean_squared_error, 3.0);
    QCOMPARE(distance->largest, 48);
    QVERIFY(near(distance->psnr, 48.130803608679 - 10.0 * std::log10(3.0), 1e-9));
    QVERIFY(distance->ssim < 1.0);
  }

  void flat_pictures_differ_in_luminance_alone() {
    // No variance: (2 * 100 * 150 + 6.5025) / (100^2 + 150^2 + 6.5025).
    QVERIFY(near(ssim_of(flat(100), flat(150)), 30006.5025 / 32506.5025));
    // Black and white: C1 / (255^2 + C1).
    QVERIFY(near(ssim_of(flat(0), flat(255)), 6.5025 / 65031.5025));
  }

  void a_mirrored_step_is_structure_reversed() {
    // One window: 100 left of the middle column, 125 in it, 150 right of it; the other picture mirrored. Both means
    // are 125, both variances 625 * (1 - w), the covariance its negative, with w = 0.266011725 the weight of the
    // middle of a Gaussian of 11 with deviation 1.5. So (C2 - 2 v) / (C2 + 2 v) with v = 458.742672, C2 = 58.5225.
    const auto step = [](bool mirrored) {
      return filled(11, 11, [mirrored](std::int64_t x, auto, int) {
        const int side = x < 5 ? -1 : (x > 5 ? 1 : 0);
        return 125 + (mirrored ? -25 : 25) * side;
      });
    };
    const double expected = (58.5225 - 2 * 458.742672) / (58.5225 + 2 * 458.742672);
    QVERIFY2(near(ssim_of(step(false), step(true)), expected, 1e-6),
             qPrintable(QString::number(ssim_of(step(false), step(true)), 'g', 10)));
  }

  void one_changed_channel_is_a_third() {
    const Picture changed = filled(16, 16, [](auto, auto, int c) { return c == 1 ? 150 : 100; });
    QVERIFY(near(ssim_of(flat(100), changed), (2.0 + 30006.5025 / 32506.5025) / 3.0));
  }

  void both_ways_are_one() {
    const Picture a =
        filled(20, 13, [](auto x, auto y, int c) { return static_cast<int>((x * 37 + y * 11 + c * 5) % 256); });
    const Picture b =
        filled(20, 13, [](auto x, auto y, int c) { return static_cast<int>((x * 35 + y * 13 + c * 9) % 256); });
    QCOMPARE(ssim_of(a, b), ssim_of(b, a));
    QCOMPARE(distance_of(a, b)->psnr, distance_of(b, a)->psnr);
  }

  void the_difference_is_absolute_times_the_gain() {
    Picture a = flat(100, 1);
    Picture b = flat(100, 1);
    a.rgb = {100, 10, 0};
    b.rgb = {90, 15, 200};
    QCOMPARE(difference_of(a, b).rgb, (std::vector<std::uint8_t>{10, 5, 200}));
    QCOMPARE(difference_of(a, b, 8).rgb, (std::vector<std::uint8_t>{80, 40, 255}));
  }

  void other_sizes_are_refused_with_a_sentence() {
    const auto sizes = distance_of(flat(1, 16), flat(1, 24));
    QVERIFY(!sizes.has_value());
    QVERIFY(sizes.error().find("16x16 and 24x24") != std::string::npos);
    const auto small = distance_of(flat(1, 8), flat(1, 8));
    QVERIFY(!small.has_value());
    QVERIFY(small.error().find("8x8") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(PictureMetricsTest)
#include "picture_metrics_test.moc"
