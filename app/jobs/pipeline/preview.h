// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/autoencoder.h"
#include "app/jobs/pipeline/picture.h"

#include <cstdint>
#include <vector>

namespace attn::app {

/// A quick look at a latent: each cell's colour as a linear function of its channels, one pixel a cell. It costs
/// microseconds where a decode costs a good part of a step, and shows colours and places, not outlines.
class LatentPreview {
 public:
  LatentPreview() = default;
  /// Fits the function, by least squares, to what the encoder makes of patches of many colours.
  LatentPreview(Autoencoder& autoencoder, const ShapesConfig& config, AttentionCalls& attention, Workers& workers);

  [[nodiscard]] Picture of(const FeatureMap& latent) const;

 private:
  std::vector<double> weights_;  ///< (channels + 1, 3), the constant last
};

}  // namespace attn::app
