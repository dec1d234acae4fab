// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/picture.h"
#include "core/tensor/expected.h"

namespace attn::app {

/// How far one picture is from another.
struct PictureDistance {
  double mean_squared_error = 0.0;  ///< over all channels, of 0..255
  int largest = 0;                  ///< of a channel's differences
  double psnr = 0.0;                ///< decibels; infinite for equal pictures
  double ssim = 1.0;                ///< -1..1, 1 for equal pictures
};

/// Decibels of a mean squared error: 10 log10(255^2 / error); infinite for 0.
[[nodiscard]] double psnr_of(double mean_squared_error) noexcept;

/// Structural similarity (Z. Wang, A. Bovik, H. Sheikh, E. Simoncelli, 2004): Gaussian windows of 11 x 11 with
/// deviation 1.5 that lie whole inside the picture, K1 = 0.01, K2 = 0.03, range 255; the mean over windows and over
/// the three channels. Both pictures of one size, 11 pixels a side at least.
[[nodiscard]] double ssim_of(const Picture& a, const Picture& b);

/// Error: a sentence where the sizes differ or are below 11 pixels a side, which no window fits into.
[[nodiscard]] Expected<PictureDistance> distance_of(const Picture& a, const Picture& b);

/// |a - b| times `gain`, cut at 255. Both pictures of one size.
[[nodiscard]] Picture difference_of(const Picture& a, const Picture& b, int gain = 1);

}  // namespace attn::app
