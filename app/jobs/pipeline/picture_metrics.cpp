// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/picture_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace attn::app {
namespace {

constexpr std::int64_t kWindow = 11;
constexpr double kDeviation = 1.5;
constexpr double kC1 = (0.01 * 255.0) * (0.01 * 255.0);
constexpr double kC2 = (0.03 * 255.0) * (0.03 * 255.0);

using Window = std::array<double, kWindow>;

Window gaussian() {
  Window window{};
  double sum = 0.0;
  for (std::int64_t i = 0; i < kWindow; ++i) {
    const auto from_centre = static_cast<double>(i - kWindow / 2);
    const double weight = std::exp(-from_centre * from_centre / (2.0 * kDeviation * kDeviation));
    window[static_cast<std::size_t>(i)] = weight;
    sum += weight;
  }
  for (double& weight : window) weight /= sum;
  return window;
}

/// Weighted sums of a window: of both pictures, their squares and their product.
struct Sums {
  double a = 0.0, b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
  void add(const Sums& other, double weight) noexcept {
    a += weight * other.a;
    b += weight * other.b;
    aa += weight * other.aa;
    bb += weight * other.bb;
    ab += weight * other.ab;
  }
};

double similarity(const Sums& s) noexcept {
  const double variance_a = s.aa - s.a * s.a;
  const double variance_b = s.bb - s.b * s.b;
  const double covariance = s.ab - s.a * s.b;
  return (2.0 * s.a * s.b + kC1) * (2.0 * covariance + kC2) /
         ((s.a * s.a + s.b * s.b + kC1) * (variance_a + variance_b + kC2));
}

/// The mean over all windows of one channel. The Gaussian is a product, so rows first, then columns.
double channel_ssim(const Picture& a, const Picture& b, std::int64_t channel, const Window& window) {
  const std::int64_t across = a.width - kWindow + 1;
  const std::int64_t down = a.height - kWindow + 1;
  std::vector<Sums> rows(static_cast<std::size_t>(across * a.height));
  for (std::int64_t y = 0; y < a.height; ++y) {
    for (std::int64_t x = 0; x < across; ++x) {
      Sums& sums = rows[static_cast<std::size_t>(y * across + x)];
      for (std::int64_t i = 0; i < kWindow; ++i) {
        const auto at = static_cast<std::size_t>((y * a.width + x + i) * 3 + channel);
        const double p = a.rgb[at];
        const double q = b.rgb[at];
        sums.add({p, q, p * p, q * q, p * q}, window[static_cast<std::size_t>(i)]);
      }
    }
  }
  double total = 0.0;
  for (std::int64_t y = 0; y < down; ++y) {
    for (std::int64_t x = 0; x < across; ++x) {
      Sums sums;
      for (std::int64_t i = 0; i < kWindow; ++i) {
        sums.add(rows[static_cast<std::size_t>((y + i) * across + x)], window[static_cast<std::size_t>(i)]);
      }
      total += similarity(sums);
    }
  }
  return total / static_cast<double>(across * down);
}

std::string size_text(const Picture& picture) {
  return std::to_string(picture.width) + "x" + std::to_string(picture.height);
}

}  // namespace

double psnr_of(double mean_squared_error) noexcept {
  if (mean_squared_error <= 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(255.0 * 255.0 / mean_squared_error);
}

double ssim_of(const Picture& a, const Picture& b) {
  const Window window = gaussian();
  double sum = 0.0;
  for (std::int64_t channel = 0; channel < 3; ++channel) sum += channel_ssim(a, b, channel, window);
  return sum / 3.0;
}

Expected<PictureDistance> distance_of(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height) {
    return fail("the pictures have different sizes, " + size_text(a) + " and " + size_text(b) +
                "; PSNR and SSIM need one size");
  }
  if (a.width < kWindow || a.height < kWindow) {
    return fail("the pictures are " + size_text(a) + "; SSIM needs 11 pixels a side");
  }
  PictureDistance distance;
  double squares = 0.0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    const int difference = std::abs(int{a.rgb[i]} - int{b.rgb[i]});
    distance.largest = std::max(distance.largest, difference);
    squares += static_cast<double>(difference) * difference;
  }
  distance.mean_squared_error = squares / static_cast<double>(a.rgb.size());
  distance.psnr = psnr_of(distance.mean_squared_error);
  distance.ssim = distance.largest == 0 ? 1.0 : ssim_of(a, b);
  return distance;
}

Picture difference_of(const Picture& a, const Picture& b, int gain) {
  Picture difference{a.width, a.height, std::vector<std::uint8_t>(a.rgb.size())};
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    difference.rgb[i] = static_cast<std::uint8_t>(std::min(255, gain * std::abs(int{a.rgb[i]} - int{b.rgb[i]})));
  }
  return difference;
}

}  // namespace attn::app
