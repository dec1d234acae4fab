// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/preview.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn::app {
namespace {

constexpr std::int64_t kSide = 64;   // of the picture of patches
constexpr std::int64_t kPatch = 16;  // of a patch: several latent cells, so that most see one colour only

/// Patches in colours that are spread over the whole cube, -1..1.
FeatureMap patches() {
  FeatureMap picture(kSide, kSide, 3);
  for (std::int64_t y = 0; y < kSide; ++y) {
    for (std::int64_t x = 0; x < kSide; ++x) {
      const std::int64_t patch = y / kPatch * (kSide / kPatch) + x / kPatch;
      // Multiples of three irrational numbers, without their whole part, fall evenly.
      constexpr std::array<double, 3> kSteps{0.8191725134, 0.6710436067, 0.5497004779};
      for (std::size_t c = 0; c < 3; ++c) {
        const double level = static_cast<double>(patch + 1) * kSteps[c];
        picture.row(y)[x * 3 + static_cast<std::int64_t>(c)] =
            static_cast<float>(2.0 * (level - std::floor(level)) - 1.0);
      }
    }
  }
  return picture;
}

/// Solves (n, n) a x = b for three right sides at once, Gauss with pivots. a is positive definite.
void solve(std::vector<double>& a, std::vector<double>& b, std::size_t n) {
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row) {
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    }
    for (std::size_t i = 0; i < n; ++i) std::swap(a[column * n + i], a[pivot * n + i]);
    for (std::size_t i = 0; i < 3; ++i) std::swap(b[column * 3 + i], b[pivot * 3 + i]);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = a[row * n + column] / a[column * n + column];
      for (std::size_t i = column; i < n; ++i) a[row * n + i] -= factor * a[column * n + i];
      for (std::size_t i = 0; i < 3; ++i) b[row * 3 + i] -= factor * b[column * 3 + i];
    }
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < 3; ++i) b[row * 3 + i] /= a[row * n + row];
  }
}

}  // namespace

LatentPreview::LatentPreview(Autoencoder& autoencoder, const ShapesConfig& config, AttentionCalls& attention,
                             Workers& workers) {
  const FeatureMap picture = patches();
  const auto terms = static_cast<std::size_t>(config.latent_channels) + 1;
  weights_.assign(terms * 3, 0.0);
  FeatureMap latent;
  if (!autoencoder.encode(picture, attention, workers, latent)) return;
  std::vector<double> products(terms * terms, 0.0);
  for (std::size_t i = 0; i < terms; ++i) products[i * terms + i] = 1e-3;  // so that there is always one answer
  std::vector<double> cell(terms, 1.0);
  for (std::int64_t y = 0; y < latent.height(); ++y) {
    for (std::int64_t x = 0; x < latent.width(); ++x) {
      std::copy_n(latent.row(y) + x * latent.channels(), terms - 1, cell.begin());
      const float* colour = picture.row(y * config.latent_factor) + x * config.latent_factor * 3;
      for (std::size_t i = 0; i < terms; ++i) {
        for (std::size_t j = 0; j < terms; ++j) products[i * terms + j] += cell[i] * cell[j];
        for (std::size_t c = 0; c < 3; ++c) weights_[i * 3 + c] += cell[i] * static_cast<double>(colour[c]);
      }
    }
  }
  solve(products, weights_, terms);
}

Picture LatentPreview::of(const FeatureMap& latent) const {
  FeatureMap colours(latent.height(), latent.width(), 3);
  const auto channels = static_cast<std::size_t>(latent.channels());
  for (std::int64_t cell = 0; cell < latent.cells(); ++cell) {
    const float* from = latent.row(0) + cell * latent.channels();
    float* to = colours.row(0) + cell * 3;
    for (std::size_t c = 0; c < 3; ++c) {
      double colour = weights_[channels * 3 + c];
      for (std::size_t i = 0; i < channels; ++i) colour += weights_[i * 3 + c] * static_cast<double>(from[i]);
      to[c] = static_cast<float>(colour);
    }
  }
  return to_picture(colours);
}

}  // namespace attn::app
