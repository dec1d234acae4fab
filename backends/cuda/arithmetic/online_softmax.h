// SPDX-License-Identifier: GPL-3.0-or-later
// The online softmax of one row in base 2 (Milakov and Gimelshein, arXiv 1805.02867).
#pragma once

#include "backends/cuda/arithmetic/numbers.h"

namespace attn::cuda {

/// What is subtracted from a row's scores: its maximum, or 0 where no key is allowed yet.
[[nodiscard]] ATTN_HD float shift_of(float maximum) { return maximum == minus_infinity() ? 0.0F : maximum; }

/// Moves a row's maximum on to what a tile brings; returns the factor for what was summed before.
[[nodiscard]] ATTN_HD float move_maximum(float& maximum, float top) {
  const float before = maximum;
  maximum = ::fmaxf(before, top);
  return exp2_of(before - shift_of(maximum));
}

/// The factor that turns a row's sums into its output; a row without any allowed key gives zeros.
[[nodiscard]] ATTN_HD float normaliser(float total) { return total == 0.0F ? 0.0F : quotient(1.0F, total); }

/// Natural log of the sum of exponentials; minus infinity without any allowed key. A maximum that add_bias() bounded is
/// the lowest float in base e too.
[[nodiscard]] ATTN_HD float log_sum_exp(float maximum, float total) {
  if (total == 0.0F) return minus_infinity();
  return maximum <= kLowest ? kLowest : (maximum + log2_of(total)) * kLn2;
}

/// Adds a bias of base e to a score of base 2. A finite bias leaves a finite score, however low: a row of the lowest
/// float averages its values, as it does when the scores are absorbed in base e.
[[nodiscard]] ATTN_HD float add_bias(float score, float bias) {
  const float biased = fused(bias, kLog2E, score);
  return biased == minus_infinity() && bias != minus_infinity() && score != minus_infinity() ? kLowest : biased;
}

}  // namespace attn::cuda
